package market

// window is the spans of an overlay that are in memory, with the closes that some offset
// lays over them. It moves from the beginning of the two series to their end:
//
//	spans    ──────────[ whole pieces ]──────────▶
//	closes   ──[ those an offset lays on them ]──▶
type window struct {
	cut      float64
	scans    []*scan
	byOffset map[int64]*scan
	least    int64 // the smallest offset
	most     int64 // the largest

	source  *spans
	ahead   bool // a span was read that is not in the window yet
	season  season
	midday  int64 // the day of that season; meaningless until a span was read
	started bool

	spans    []span
	ends     []int    // of the pieces, in spans
	seasonOf []season // of the pieces

	finer  *closes
	block  []someClose
	at     calendar
	closes []someClose // with their closing instants
}

// What a window holds before it is full. The piece with which it is filled is taken whole.
const (
	windowSpans  = 4096
	windowCloses = 1 << 15
)

// scan is the finer series laid over the spans at an offset.
type scan struct {
	offset int64
	sums   []moments // of the shared returns of each piece in the window

	k            int // closes in the window that are over
	lastX, lastY float64
	begun        bool
}

func (p *overlay) window(settings []setting) *window {
	w := &window{byOffset: map[int64]*scan{}, cut: p.cut, source: p.spans(), finer: p.b.closes(), at: p.instants(p.b.Timeframe)}
	for _, s := range settings {
		for k := range season(seasons) {
			if d := s.offset + s.clocks.extra(k); w.byOffset[d] == nil {
				w.byOffset[d] = &scan{offset: d}
				w.scans = append(w.scans, w.byOffset[d])
				w.least, w.most = min(w.least, d), max(w.most, d)
			}
		}
	}
	w.ahead = w.source.next()
	return w
}

// fill moves the window, and tells whether spans are in it.
func (w *window) fill() bool {
	w.spans, w.ends, w.seasonOf = w.spans[:0], w.ends[:0], w.seasonOf[:0]
	if w.ahead {
		w.forget(w.source.start)
	}
	in := 0 // spans of the last piece
	for ; w.ahead; w.ahead = w.source.next() {
		s := w.source.span
		season := w.seasonAt(s.end)
		if n := len(w.seasonOf); n == 0 || w.seasonOf[n-1] != season || in == pieceSpans {
			if len(w.spans) >= windowSpans || len(w.closes) >= windowCloses && n > 0 {
				break
			}
			w.seasonOf, w.ends, in = append(w.seasonOf, season), append(w.ends, 0), 0
		}
		w.spans, in = append(w.spans, s), in+1
		w.ends[len(w.ends)-1] = len(w.spans)
		w.read(s)
	}
	return len(w.spans) > 0
}

// forget drops closes that no offset lays into a span that begins at an instant or later.
func (w *window) forget(start int64) {
	n := 0
	for n < len(w.closes) && w.closes[n].time <= start-w.most {
		n++
	}
	w.closes = append(w.closes[:0], w.closes[n:]...)
	for _, s := range w.scans {
		s.k = max(0, s.k-n)
	}
}

// read reads the closes that some offset lays into a span, and passes over those before them.
func (w *window) read(s span) {
	for {
		if len(w.block) == 0 {
			if w.block = w.finer.next(); len(w.block) == 0 {
				return
			}
		}
		c := w.block[0]
		if c.time = w.at.end(c.time); c.time > s.end-w.least {
			return
		}
		if w.block = w.block[1:]; c.time > s.start-w.most {
			w.closes = append(w.closes, c)
		}
	}
}

// seasonAt is the season of the day of an instant.
func (w *window) seasonAt(t int64) season {
	if midnight := floor(t, day); !w.started || midnight != w.midday {
		w.started, w.midday, w.season = true, midnight, seasonOf(midnight)
	}
	return w.season
}

// lay lays the closes over the spans, and sums up the shared returns of each piece.
func (s *scan) lay(w *window) {
	s.sums = s.sums[:0]
	closes, k, from := w.closes, s.k, 0
	for _, to := range w.ends {
		var m moments
		for _, in := range w.spans[from:to] {
			for k < len(closes) && closes[k].time+s.offset <= in.end {
				k++
			}
			if k == 0 || closes[k-1].time+s.offset <= in.start {
				continue
			}
			last := &closes[k-1]
			if s.begun {
				if last.time+s.offset == in.end {
					m.exact++
				}
				m.add(within(in.x-s.lastX, w.cut), within(last.log-s.lastY, w.cut))
			}
			s.lastX, s.lastY, s.begun = in.x, last.log, true
		}
		s.sums, from = append(s.sums, m), to
	}
	s.k = k
}
