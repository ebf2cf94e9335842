# SPDX-License-Identifier: Apache-2.0
serriedconfdir = $(sysconfdir)/serried
dist_serriedconf_DATA = %D%/serried.json
