# SPDX-License-Identifier: Apache-2.0
TESTS += %D%/layers.sh %D%/settings.sh
EXTRA_DIST += %D%/layers.sh %D%/settings.sh docs/layers.txt
