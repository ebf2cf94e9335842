#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# conf/serried.json and the list in serried.json(5) are what the table of settings gives.
# usage: settings.sh [--write]
set -eu
serry=${SERRY:-./serry}
top=${srcdir:-.}
conf=$top/conf/serried.json
page=$top/docs/man/serried.json.5
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

"$serry" settings conf >"$made/conf"
"$serry" settings mdoc >"$made/list"
# the list stands between two comments
sed -e '/^\.\\" end of the list/,$d' -e '/^\.\\" begin of the list/q' "$page" >"$made/page"
cat "$made/list" >>"$made/page"
sed -n '/^\.\\" end of the list/,$p' "$page" >>"$made/page"

if [ "${1-}" = --write ]; then
    cp "$made/conf" "$conf"
    cp "$made/page" "$page"
    exit 0
fi
status=0
diff -u "$conf" "$made/conf" || status=1
diff -u "$page" "$made/page" || status=1
[ $status = 0 ] || echo "not as the table of settings has it: run make docs"
exit $status
