package chaos_test

import "bytes"

// containsOutcome says whether a spool entry is a result.
func containsOutcome(entry []byte) bool { return bytes.Contains(entry, []byte(`"outcome"`)) }
