# SPDX-License-Identifier: Apache-2.0
# `make bench` measures against bare programs in the same run; no test depends on a time.
EXTRA_PROGRAMS = \
	%D%/barrier \
	%D%/copier \
	%D%/flood \
	%D%/mark \
	%D%/muxonly \
	%D%/spawn
%C%_barrier_SOURCES = %D%/barrier.c
%C%_barrier_LDADD = librun.a $(SERRIED_PURE) $(UV_LIBS) $(SSL_LIBS) $(CJSON_LIBS) -lm
%C%_copier_SOURCES = %D%/logs/copier.c
%C%_flood_SOURCES = %D%/logs/flood.c
%C%_mark_SOURCES = %D%/mark.c
%C%_muxonly_SOURCES = %D%/logs/muxonly.c
%C%_muxonly_LDADD = librun.a $(SERRIED_PURE) $(UV_LIBS) $(CJSON_LIBS) -lm
%C%_spawn_SOURCES = %D%/spawn.c
EXTRA_DIST += %D%/run.py
CLEANFILES += $(EXTRA_PROGRAMS)

bench-programs: $(EXTRA_PROGRAMS)
bench: serried serry bench-programs
	python3 $(srcdir)/%D%/run.py $(builddir)
.PHONY: bench bench-programs
