noinst_LIBRARIES += librun.a
librun_a_SOURCES = \
	%D%/child.c %D%/child.h \
	%D%/console.c %D%/console.h \
	%D%/daemon.c %D%/daemon.h \
	%D%/events.c %D%/events.h \
	%D%/keeper.c %D%/keeper.h \
	%D%/killtree.c %D%/killtree.h \
	%D%/logfile.c %D%/logfile.h \
	%D%/logmux.c %D%/logmux.h \
	%D%/memory.c %D%/memory.h \
	%D%/network.c %D%/network.h \
	%D%/outputs.c %D%/outputs.h \
	%D%/reaper.c %D%/reaper.h \
	%D%/signals.c %D%/signals.h \
	%D%/task.c %D%/task.h
