# SPDX-License-Identifier: Apache-2.0
TESTS += %D%/settings.sh
EXTRA_DIST += %D%/settings.sh
