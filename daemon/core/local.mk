# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libcore.a
libcore_a_SOURCES = \
	%D%/agree.c %D%/agree.h \
	%D%/args.c \
	%D%/channels.c %D%/channels.h \
	%D%/entry.c %D%/entry.h \
	%D%/env.c %D%/env.h \
	%D%/env_rules.c %D%/env_rules.h \
	%D%/evidence.c %D%/evidence.h \
	%D%/facts.c %D%/facts.h \
	%D%/findings.c %D%/findings.h \
	%D%/fit.c %D%/fit.h \
	%D%/hyper.c %D%/hyper.h \
	%D%/job.c %D%/job.h \
	%D%/job_fsm.c %D%/job_fsm.h \
	%D%/keyform.c %D%/keyform.h \
	%D%/lines.c %D%/lines.h \
	%D%/logform.c %D%/logform.h \
	%D%/logtail.c %D%/logtail.h \
	%D%/outcome.c %D%/outcome.h \
	%D%/plan.c %D%/plan.h \
	%D%/plan_file.c \
	%D%/plan_json.c \
	%D%/rank_fsm.c %D%/rank_fsm.h \
	%D%/redact.c %D%/redact.h %D%/redact_parts.h \
	%D%/redact_names.c \
	%D%/redact_spans.c \
	%D%/report.c %D%/report.h \
	%D%/resources.c %D%/resources.h \
	%D%/rootcause.c %D%/rootcause.h \
	%D%/roster.c %D%/roster.h \
	%D%/scan.c %D%/scan.h \
	%D%/settings.c %D%/settings.h \
	%D%/testimony.c %D%/testimony.h \
	%D%/verdict.c %D%/verdict.h \
	%D%/wire.c %D%/wire.h
