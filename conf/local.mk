# SPDX-License-Identifier: Apache-2.0
serriedconfdir = $(sysconfdir)/serried
EXTRA_DIST += %D%/serried.json

# A file that somebody has edited stays: ours goes beside it, to be compared.
install-data-local:
	$(MKDIR_P) "$(DESTDIR)$(serriedconfdir)"
	@to="$(DESTDIR)$(serriedconfdir)/serried.json"; from="$(srcdir)/%D%/serried.json"; \
	rm -f "$$to.new"; \
	if cmp -s "$$from" "$$to"; then exit 0; fi; \
	if test -e "$$to"; then echo "$$to was edited and stays; ours is $$to.new"; to="$$to.new"; fi; \
	$(INSTALL_DATA) "$$from" "$$to"

# Takes away what an installation put there, and leaves a file that somebody has edited.
uninstall-local:
	@to="$(DESTDIR)$(serriedconfdir)/serried.json"; from="$(srcdir)/%D%/serried.json"; \
	rm -f "$$to.new"; \
	if cmp -s "$$from" "$$to"; then rm -f "$$to"; fi; \
	rmdir "$(DESTDIR)$(serriedconfdir)" 2>/dev/null || :
.PHONY: install-data-local uninstall-local
