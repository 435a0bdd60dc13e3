package market

import (
	"iter"
	"slices"
	"sync"
	"unsafe"
)

// mappings are the files that are mapped now. A page of a file comes into memory when
// it is read, and stays there: of a long series that is read once, all of it would.
var mappings struct {
	sync.Mutex
	all []mapping
}

// holds tells whether an address lies in a mapped file.
func (m mapping) holds(at unsafe.Pointer) bool {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(m))) //nolint:gosec // only the address is looked at
	return uintptr(at)-from < uintptr(len(m))
}

// unload takes the columns that lie in files out of memory. They are read again
// where they are needed.
func (b *Bars) unload() {
	mappings.Lock()
	defer mappings.Unlock()
	if len(mappings.all) == 0 {
		return
	}
	at := []unsafe.Pointer{unsafe.Pointer(unsafe.SliceData(b.Time))} //nolint:gosec // only the address is looked at
	for _, c := range b.columns() {
		at = append(at, unsafe.Pointer(unsafe.SliceData(*c))) //nolint:gosec // only the address is looked at
	}
	for _, m := range mappings.all {
		if slices.ContainsFunc(at, m.holds) {
			m.unload()
		}
	}
}

// placesAtOnce is how many bars are read before they are taken out of memory.
const placesAtOnce = 1 << 16

// Places gives the places of bars from one on until another, which is not among them,
// at some distance. Of a long series that lies in files, a small part is in memory
// meanwhile. What looks at all bars of a series uses it.
func (b *Bars) Places(from, until, step int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := from; i < until; {
			end := until
			if until-i > placesAtOnce {
				end = i + placesAtOnce
			}
			for ; i < end; i += step {
				if !yield(i) {
					return
				}
			}
			if end-from >= placesAtOnce {
				b.unload()
			}
		}
	}
}
