# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += serried
serried_SOURCES = %D%/main.c
# lowest last: a call upwards does not link
SERRIED_PURE = libinput.a liblaunchers.a libcore.a libbase.a
serried_LDADD = librun.a $(SERRIED_PURE) $(UV_LIBS) $(SSL_LIBS) $(CJSON_LIBS) -lm

# `docker run IMAGE train` starts the image's entry point with this word, or looks for a program of
# this name on PATH.
install-exec-hook:
	cd "$(DESTDIR)$(bindir)" && rm -f train && $(LN_S) serried train
uninstall-hook:
	rm -f "$(DESTDIR)$(bindir)/train"
