# Every target is done by scripts/run, which also works where there is no make.
.DEFAULT_GOAL := help
TARGETS := help demo test test-jazzy soak lint typecheck format schema bench setup clean

.PHONY: $(TARGETS)
$(TARGETS):
	@sh scripts/run $@
