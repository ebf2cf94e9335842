# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += librun.a
librun_a_SOURCES = \
	%D%/account.c %D%/account.h \
	%D%/begin.c %D%/begin.h \
	%D%/child.c %D%/child.h \
	%D%/console.c %D%/console.h \
	%D%/dial.c %D%/dial.h \
	%D%/listen.c %D%/listen.h \
	%D%/lookup.c %D%/lookup.h \
	%D%/crew.c %D%/crew.h \
	%D%/daemon.c %D%/daemon.h \
	%D%/events.c %D%/events.h \
	%D%/keeper.c %D%/keeper.h \
	%D%/killtree.c %D%/killtree.h \
	%D%/link.c %D%/link.h \
	%D%/logfile.c %D%/logfile.h \
	%D%/logmux.c %D%/logmux.h \
	%D%/memory.c %D%/memory.h \
	%D%/network.c %D%/network.h \
	%D%/outputs.c %D%/outputs.h \
	%D%/peerkey.c %D%/peerkey.h \
	%D%/peers.c %D%/peers.h %D%/peers_parts.h \
	%D%/peers_doubts.c \
	%D%/peers_guests.c \
	%D%/peers_join.c \
	%D%/peers_lead.c \
	%D%/reaper.c %D%/reaper.h \
	%D%/signals.c %D%/signals.h \
	%D%/supervise.c %D%/supervise.h \
	%D%/task.c %D%/task.h \
	%D%/tls.c %D%/tls.h
