package cache

import "testing"

func TestCache_DropsWhatWasUsedLeastRecently(t *testing.T) {
	c := New[string, int](10)
	for i, k := range []string{"a", "b", "c"} {
		c.Put(k, i, 3)
	}
	c.Get("a")
	c.Put("a", 9, 3) // is kept already
	c.Put("d", 3, 4) // b and no other makes room
	c.Put("vast", 4, 11)
	for k, want := range map[string]int{"a": 0, "c": 2, "d": 3} {
		if got, ok := c.Get(k); !ok || got != want {
			t.Errorf("%s is %d, %v, want %d", k, got, ok, want)
		}
	}
	for _, k := range []string{"b", "vast"} {
		if _, ok := c.Get(k); ok {
			t.Errorf("%s is still kept", k)
		}
	}
	if c.Len() != 3 || c.size != 10 {
		t.Errorf("%d values of size %d, want 3 of 10", c.Len(), c.size)
	}
}
