package page

import (
	"cmp"
	"sync"
)

// ask keeps an answer.
func ask[T any](answer *T, f func() (T, error)) func() error {
	return func() (err error) {
		*answer, err = f()
		return err
	}
}

// together asks several questions at once, and returns the first error of the
// list. A question must be one to the API, which turns a panic into an error.
func together(questions ...func() error) error {
	errs := make([]error, len(questions))
	var all sync.WaitGroup
	for i, question := range questions {
		all.Go(func() { errs[i] = question() })
	}
	all.Wait()
	return cmp.Or(errs...)
}
