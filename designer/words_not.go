package designer

import (
	"slices"
	"strings"
)

// verdict is what a text says about a thing that it names: a symbol, a timeframe, a
// phrase, or a word that is not known.
type verdict int8

const (
	wanted   verdict = iota
	unwanted         // it is ruled out
	doubtful         // it has no effect and is listed
)

// denier is how a word denies. Without behind, it is about what follows.
type denier struct {
	behind bool // it is about what stands before it in its clause: "shorts are forbidden"
	verb   bool // it is about what stands before it if nothing follows: "RSI should not be used"
	weak   bool // it leaves in doubt what is wanted: "a stop is optional"
}

// deniers are the words that deny, up to three each. Words with "n't" deny as "not" does.
var deniers = tableOf([]said[denier]{
	{denier{}, `no, without, avoid, avoiding, exclude, excluding, except, neither, nor, ban, forbid, forget, skip, omit, minus,
		against, anti, non, hate, dislike, ignore, remove, reject, disable, zero, none of, nothing with, instead of,
		rather than, other than, apart from, aside from, exception of, anything but, everything but, all but, stop using,
		stop trading, get rid of, in place of, as opposed to, w o`},
	{denier{weak: true}, "besides, rarely, seldom, hardly"},
	{denier{verb: true}, "not, never, dont, cannot"},
	{denier{behind: true}, `forbidden, banned, prohibited, excluded, avoided, omitted, unwanted, unacceptable, disallowed, disabled, useless,
		ruled out, no go, is bad, are bad, is too many, are too many, is too much, are too much`},
	{denier{behind: true, weak: true}, "optional, acceptable, unnecessary"},
})

var (
	// passive follow a "not" that is about what stands before it, whatever comes after.
	passive = strings.Fields("allowed permitted used wanted welcome taken traded considered included what work works working help helps")
	// needless leave in doubt what a "not" before them is about.
	needless = strings.Fields("need needs needed necessary required important matter matters care sure")
	// helpers stand before a "not" that may be about what stands before them, unless
	// that is one of the pronouns.
	helpers  = strings.Fields("is are was were should must can could may might do does did will would shall")
	pronouns = strings.Fields("i it you we they there")
	// degrees leave in doubt how much of something is denied: "RSI should not always be used".
	degrees = strings.Fields("too so very more less much many only always every all both")
	// dividers begin a clause.
	dividers = strings.Fields("but with where while when if because which that though although since instead")
	// hopes end a denial that has ruled something out; the first two end any.
	hopes = []string{"but", "instead", "use", "using", "with", "prefer", "only", "try"}
	// places are between a thing and where it is meant: "shorts on EURUSD".
	places = []string{"on", "for", "in", "of", "at", "using", "during"}
	// passed are content words between a denial and what it rules out: "avoid high
	// volatility", "never hold shorts".
	passed = strings.Fields(`big complex complicated extreme fancy fast heavy high huge lagging large low old plain pure slow
		small standard strong weak
		allow allowing apply buy carry chase consider depend employ enter follow hold holding include involve open opening read
		rely sell selling`)
	// harms are everyday words that a denial rules out by themselves.
	harms = []string{"lookahead", "overfit", "overfitting"}
)

// negates says whether a word denies what follows it: no, not, don't, shouldn't.
func negates(word string) bool {
	d, ok := deniers[word]
	return ok && !d.behind || strings.HasSuffix(word, "n't")
}

// denierAt is the longest denier that begins at word i, and how many words it has; 0 if no denier begins there.
func (r *briefReader) denierAt(i int) (denier, int) {
	for n := min(3, len(r.words)-i); n > 0; n-- {
		if d, ok := deniers[strings.Join(r.words[i:i+n], " ")]; ok {
			return d, n
		}
	}
	switch {
	case strings.HasSuffix(r.words[i], "n't"):
		return denier{verb: true}, 1
	case r.words[i] == "over" && phrases[r.word(i-1)].model != "" && phrases[r.word(i+1)].model != "": // "LSTM over MLP"
		return denier{}, 1
	}
	return denier{}, 0
}

// limits says whether the denier at i belongs to a bound and rules nothing out: "not only", "no more than".
func (r *briefReader) limits(i int) bool {
	if !negates(r.words[i]) {
		return false
	}
	k := i + 1
	for slices.Contains([]string{"be", "go", "get"}, r.word(k)) { // "should not be above"
		k++
	}
	switch next := r.word(k); next {
	case "only", "just", "over", "above", "below", "under":
		return true
	case "more", "less", "fewer", "greater", "higher", "lower":
		return r.word(k+1) == "than"
	default:
		return slices.Contains(exceeds, next)
	}
}

// words from one to another, the last excluded.
type words struct{ from, to int }

// denial is a denier of the text, and what it has done so far.
type denial struct {
	denier
	words
	open  bool
	ruled bool  // it ruled something out, or met a word that is listed
	list  bool  // a colon or parenthesis follows it: it rules out all that follows, up to the end of the sentence
	verbs bool  // a word that is not known follows it
	last  words // the last thing that it reached
	back  bool  // what it says is about what stands before it: "not needed"
}

// judge says of each word whether the text wants what it names. A denial is about the
// first thing that follows it, and those in a list with it; or about the last thing
// before it in its clause. A denial that is about nothing is listed.
func (r *briefReader) judge() {
	j := judging{briefReader: r}
	for i := 0; i < len(r.words); {
		kind, n := r.denierAt(i)
		if n > 0 && !r.limits(i) {
			j.deny(kind, i, n)
			i += n
			continue
		}
		i += j.pass(i, n > 0)
	}
	j.end(len(r.words))
}

// judging is a judgement under way.
type judging struct {
	*briefReader
	d      denial  // the last one
	clause []words // the things of the clause so far
}

// pending says whether the denial has not found what it is about.
func (j *judging) pending() bool { return j.d.open && !j.d.ruled }

// end closes the denial at word i. It is listed if it is about nothing.
func (j *judging) end(i int) {
	if j.d.to == i { // "RSI never" says too little
		j.d.weak, j.d.back = true, true
	}
	j.d.to = i
	if j.pending() && !(j.looksBack(j.d) && j.behind(j.d, j.clause)) {
		j.doubts = append(j.doubts, j.d.words)
	}
	j.d = denial{}
}

// deny takes the denier of n words at i.
func (j *judging) deny(kind denier, i, n int) {
	from, w := i, j.words[i]
	switch {
	case kind.behind:
		if j.pending() { // "not acceptable" is, "not forbidden" is not
			kind.weak, from = w != "acceptable", j.d.from
		}
		j.d = denial{denier: kind, words: words{from, i + n}}
		j.d.ruled = j.behind(j.d, j.clause)
		j.d.open = !j.d.ruled // "forbidden: shorts"
	case w == "without" && j.d.ruled && j.past(j.d.last.to) == i: // "no trend without volume" may want both
		j.d.weak, j.d.ruled, j.d.to = true, false, i+n
		j.rule(j.d, j.d.last)
		j.d.open = true
	case j.pending() && w != "nor": // a double denial leaves in doubt what is wanted
		kind.weak = true
		j.d = denial{denier: kind, words: words{j.d.from, i + n}, open: w != "without"}
	default:
		j.end(i)
		j.d = denial{denier: kind, words: words{from, i + n}, open: true}
	}
}

// pass takes the word at i, which denies nothing, or denies as a bound does. It
// returns the number of words of the thing there, or 1.
func (j *judging) pass(i int, bound bool) int {
	w, raw := j.words[i], j.raw[i]
	thing, known := j.thing(i)
	switch {
	case j.pending() && (raw == ":" || raw == "("):
		j.d.list = true
	case w == stop && !(j.d.list && (raw == "," || raw == "\n")):
		if j.d.ruled && raw == "," && j.d.last.to == i {
			j.doubtList(j.d.last, i)
		}
		j.end(i)
		j.clause = nil
	case bound,
		j.d.open && slices.Contains(hopes, w) && (j.d.ruled || slices.Contains(hopes[:2], w)):
		j.end(i)
	case j.pending() && slices.Contains(needless, w):
		j.d.weak, j.d.back, j.d.to = true, j.d.verb, i+1
	case j.pending() && w == "than" && !slices.Contains(greater, j.word(i-1)) && !slices.Contains(smaller, j.word(i-1)):
		j.d.weak = true // "no other indicator than RSI"
	case j.pending() && j.d.verb && slices.Contains(passive, w):
		j.d.to, j.d.back = i+1, true
		if j.looksBack(j.d) && j.behind(j.d, j.clause) {
			j.d = denial{}
		}
	case j.d.open && j.d.ruled && j.bounded(i): // "no stop and at least 200 trades"
		j.end(i)
	case thing > 0 && j.d.open:
		j.reach(&j.d, words{i, i + thing}, known, j.clause)
	}
	if thing > 0 {
		j.clause = append(j.clause, words{i, i + thing})
	} else if slices.Contains(dividers, w) {
		j.clause = nil
	}
	return max(thing, 1)
}

// reach lets a denial act on a thing that follows it.
func (r *briefReader) reach(d *denial, t words, known bool, clause []words) {
	switch {
	case known && d.verbs: // "do not incorporate RSI"
		d.weak = true
		r.rule(*d, t)
	case known:
		r.rule(*d, t)
	case d.verb && !d.ruled && !d.verbs:
		d.verbs = true
		return
	case d.verbs && r.looksBack(*d): // "shorts should not be held overnight"
		d.to = t.to
		r.behind(*d, clause)
	}
	d.ruled = true
	d.last = t
	if _, frame := r.frameAt(t.from); frame && t.to < len(r.words) {
		if _, n := r.phraseAt(t.to); n > 0 { // "no daily trend"
			return
		}
	}
	k := r.past(t.to) // where a list may continue: "no volume based indicators or macd"
	d.open = d.list || slices.Contains(links, r.word(k)) || r.word(k) == "nor" || k < len(r.words) && r.listed[k]
}

// past is the first word from k on that is more than the rest of a thing's name.
func (r *briefReader) past(k int) int {
	for n := k + near; k < n && (slices.Contains(everyday, r.word(k)) || r.word(k) == "based"); {
		k++
	}
	return k
}

// doubtList leaves in doubt what may continue a list of what is ruled out: the MACD of
// "no RSI, MACD or volume". t is the thing that is ruled out before the comma at i.
func (r *briefReader) doubtList(t words, i int) {
	var items []words
	for k := i; k < len(r.words) && (r.raw[k] == "," || r.words[k] == "or" || r.words[k] == "nor"); {
		n, known := 0, false
		if k+1 < len(r.words) {
			n, known = r.thing(k + 1)
		}
		if !known || !r.alike(t.from, k+1) {
			return
		}
		items = append(items, words{k + 1, k + 1 + n})
		if r.words[k] != stop {
			for _, x := range items {
				r.rule(denial{denier: denier{weak: true}, words: x}, x)
			}
			return
		}
		k += 1 + n
	}
}

// alike says whether the things at two words are of one kind.
func (r *briefReader) alike(i, k int) bool {
	kind := func(i int) [3]bool {
		m, _ := r.phraseAt(i)
		return [3]bool{r.symbols[i].words > 0, m.family != "" || len(m.readings) > 0, m.model != ""}
	}
	return kind(i) == kind(k)
}

// looksBack says whether a denial that is about nothing behind it is about what stands before it.
func (r *briefReader) looksBack(d denial) bool {
	w, subject := r.words[d.from], d.from-1
	helped := strings.HasSuffix(w, "n't") || w == "cannot"
	if !helped && slices.Contains(helpers, r.word(subject)) {
		helped = true
		subject--
	}
	return (d.back || d.verb && helped) && !slices.Contains(pronouns, r.word(subject))
}

// qualified says whether more is said about a denial in the rest of its clause than
// which things it is about: "RSI should not be used alone".
func (r *briefReader) qualified(i int) bool {
	for end := i + 2*near; i < min(end, len(r.words)) && r.words[i] != stop && !slices.Contains(dividers, r.words[i]); {
		n, known := r.thing(i)
		if w := r.words[i]; !known && !slices.Contains(passive, w) && (!saysNothing(w) || slices.Contains(degrees, w)) {
			return true
		}
		i += max(n, 1)
	}
	return false
}

// behind lets a denial act on the last thing of the clause before it, and on those in a list
// with it. "Shorts on EURUSD are forbidden" is about shorts. It says whether there is one.
func (r *briefReader) behind(d denial, clause []words) bool {
	k := len(clause) - 1
	for k >= 0 && clause[k].to > d.from {
		k--
	}
	if k < 0 {
		return false
	}
	rest := d.to
	if d.verb {
		rest = d.from + 1
	}
	d.weak = d.weak || r.qualified(rest)
	first := max(k-near, 0)
	link := func(k int, list []string) bool {
		if k <= first {
			return false
		}
		between := r.words[max(clause[k-1].to, clause[k].from-near):clause[k].from]
		return slices.ContainsFunc(between, func(w string) bool { return slices.Contains(list, w) })
	}
	for link(k, places) {
		k--
	}
	r.rule(d, clause[k])
	if _, known := r.thing(clause[k].from); !known && k > 0 && clause[k-1].to == clause[k].from { // "RSI usage is forbidden"
		d.weak = true
		k--
		r.rule(d, clause[k])
	}
	for link(k, links) || k > first && r.listed[clause[k].from] {
		k--
		r.rule(d, clause[k])
	}
	return true
}

// rule is what a denial does to a thing.
func (r *briefReader) rule(d denial, t words) {
	v := unwanted
	if d.weak {
		v = doubtful
		r.doubts = append(r.doubts, words{min(d.from, t.from), max(d.to, t.to)})
	}
	for k := t.from; k < t.to; k++ {
		r.verdicts[k], r.deniedBy[k] = v, d.words
	}
	if slices.Contains(harms, r.words[t.from]) {
		r.use(t.from, 1)
	}
}

// thing is how many words the thing at i has, and whether it is one that is known.
func (r *briefReader) thing(i int) (n int, known bool) {
	w := r.words[i]
	if n := r.symbols[i].words; n > 0 {
		return n, true
	}
	if _, n := r.phraseAt(i); n > 0 {
		return n, true
	}
	if f, ok := r.frameAt(i); ok {
		return f.to - f.from, true
	}
	_, number := numeral(w)
	switch {
	case slices.Contains(harms, w), slices.Contains(drawdowns, w), w == "trades" && r.tradesAt(i).words > 0:
		return 1, true
	case w == stop, number, units[w] != "", negates(w), saysNothing(w), slices.Contains(passed, w), slices.Contains(exceeds, w),
		slices.Contains(needless, w), slices.Contains(passive, w), strings.HasSuffix(w, "ly"), strings.Trim(w, "%<>=") == "":
		return 0, false
	}
	return 1, false
}
