# SPDX-License-Identifier: Apache-2.0
TESTS += %D%/run_contract.py %D%/run_hosts.py
EXTRA_DIST += %D%/run_contract.py %D%/run_hosts.py %D%/contract
