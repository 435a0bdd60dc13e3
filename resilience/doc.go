// Package resilience keeps one failure one failure: it says what an error
// means, tries again what is worth it, stops calling what is down, sheds what
// the system can do without, and undoes what was half done.
//
//	RetryPolicy.Do ──▶ Do(breakers…) ──▶ the call
//	     │                 │
//	     │                 ├─ agent ─┐
//	     │                 ├─ cluster├─▶ Registry ──▶ Store (state outlives the process)
//	     │                 └─ provider     │
//	     └─ *WaitError: too long to        └─▶ OnChange ──▶ Degradation ──▶ Allows(feature)
//	        sleep, wait durably
//
// Everything decides by Kind, which is told from types, status and provider
// codes, never from the text of an error.
package resilience
