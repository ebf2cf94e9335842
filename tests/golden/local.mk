# SPDX-License-Identifier: Apache-2.0
TESTS += %D%/run_contract.py
EXTRA_DIST += %D%/run_contract.py %D%/contract
