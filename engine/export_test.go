package engine

// KnownEmpty is how many sets of types are remembered as having nothing.
func (e *Engine) KnownEmpty() int {
	e.waiting.mu.Lock()
	defer e.waiting.mu.Unlock()
	return len(e.waiting.empty)
}
