#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No #include goes against docs/layers.txt.
set -eu
cd "${srcdir:-.}"
status=0
grep -v '^#' docs/layers.txt | while IFS= read -r line; do
    folder=$(echo "$line" | sed 's/:.*//' | cut -d' ' -f2)
    own=$(basename "$folder")
    allowed=$(echo "$line" | sed 's/[^:]*://')
    for file in "$folder"/*.c "$folder"/*.h; do
        [ -f "$file" ] || continue
        sed -n 's|^#include "\([a-z]*\)/.*|\1|p' "$file" | sort -u | while IFS= read -r used; do
            case " $own $allowed " in
            *" $used "*) ;;
            *) echo "$file: includes $used/, which $own may not know"; exit 1 ;;
            esac
        done || exit 1
    done || exit 1
done || status=1
exit $status
