# What the scripts beside this file share: a backend and workers of their own in
# a folder of their own, gone when the script ends. KTRDR names the binary.
# Others may set KTRDR_DB, ORPHAN_TIMEOUT_SECONDS and the like as for ktrdr itself.

set -euo pipefail

KTRDR=${KTRDR:-ktrdr}
LAB=$(mktemp -d)
BACKEND= WORKER=
export KTRDR_DATA=$LAB/data KTRDR_AUTH=none

trap 'clean' EXIT
clean() {
	{ kill -9 $BACKEND $WORKER; wait; } 2>/dev/null || true
	rm -rf "$LAB"
}

# serve [NAME=VALUE…] starts the backend, at the same address each time.
serve() {
	rm -f "$LAB/said"
	env "$@" "$KTRDR" serve --addr "${ADDR:-127.0.0.1:0}" --workers 0 --json >"$LAB/said" 2>>"$LAB/backend.log" &
	BACKEND=$!
	eventually 'the backend is up' said_url
	ADDR=${KTRDR_URL#http://}
}

said_url() {
	kill -0 "$BACKEND" 2>/dev/null || fail "the backend did not start: $(cat "$LAB/backend.log")"
	KTRDR_URL=$(jq -r .url "$LAB/said" 2>/dev/null) && [ -n "$KTRDR_URL" ] || return 1
	export KTRDR_URL
	BASE=http://localhost:${KTRDR_URL##*:}
}

# worker starts one that trains and backtests.
worker() {
	"$KTRDR" worker --types training,backtesting --data "$LAB/worker" >>"$LAB/worker.log" 2>&1 &
	WORKER=$!
}

# end PID kills without mercy.
end() {
	{ kill -9 "$1"; wait "$1"; } 2>/dev/null || true
}

# eventually WHAT COMMAND… waits until the command succeeds.
eventually() {
	local what=$1 deadline=$((SECONDS + 60))
	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || fail "a minute has passed, and it is not so that $what"
		sleep 0.1
	done
	echo "  $what"
}

# field OPERATION NAME prints one of its fields.
field() { curl -s "$BASE/api/v1/operations/$1" | jq -r ".data.$2"; }

is() { [ "$(field "$1" status)" = "$2" ]; }

fail() {
	echo "=== FAILED: $*" >&2
	exit 1
}
