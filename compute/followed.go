package compute

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
)

// Followed says what is followed, and of each what its last turn brought and what fails. data is
// the data folder of the lab.
func Followed(ctx context.Context, l *library.Library, ops Operations, data string) ([]jobs.Followed, error) {
	all, err := l.Follows(ctx)
	if err != nil {
		return nil, err
	}
	return statesOf(ctx, all, ops, data)
}

// FollowedSeries is Followed of series alone. It reads no folder.
func FollowedSeries(ctx context.Context, l *library.Library, ops Operations) ([]jobs.Followed, error) {
	all, err := l.Follows(ctx)
	if err != nil {
		return nil, err
	}
	return statesOf(ctx, slices.DeleteFunc(all, func(f jobs.Follow) bool { return f.Folder != "" }), ops, "")
}

func statesOf(ctx context.Context, all []jobs.Follow, ops Operations, data string) ([]jobs.Followed, error) {
	list := make([]*followed, len(all))
	types := map[ktrdr.Type]int{} // how many still want to see operations of a type
	for i, s := range all {
		list[i] = &followed{Followed: jobs.Followed{Follow: s, Failures: []jobs.FollowFailure{}}, ended: map[string]bool{}}
		types[list[i].kind()]++
	}
	for _, t := range []ktrdr.Type{ktrdr.DataFetch, ktrdr.DataLoad} {
		if types[t] == 0 {
			continue
		}
		err := eachOperation(ctx, ops, t, func(op ktrdr.Operation) bool {
			more := false
			for _, f := range list {
				if f.kind() == t && !f.known {
					f.see(op)
					more = more || !f.known
				}
			}
			return more
		})
		if err != nil {
			return nil, err
		}
	}
	said := make([]jobs.Followed, len(list))
	for i, f := range list {
		if f.Folder != "" {
			f.lookInto(ctx, data)
		}
		said[i] = f.Followed
	}
	return said, nil
}

// followed gathers what is said of a follow from its operations, the newest first.
type followed struct {
	jobs.Followed

	ended map[string]bool // by file: what ended before tells no more of it
	known bool            // no older operation tells more
}

func (f *followed) kind() ktrdr.Type {
	if f.Folder != "" {
		return ktrdr.DataLoad
	}
	return ktrdr.DataFetch
}

// of says whether an operation belongs to the follow: which file, which turn.
func (f *followed) of(op ktrdr.Operation) (what string, turn int64, is bool) {
	if f.Folder != "" {
		spec, err := ktrdr.ParseSpec[jobs.LoadSpec](op.Spec)
		return spec.Source.Name, spec.Turn, err == nil && spec.Folder == f.Folder
	}
	spec, err := ktrdr.ParseSpec[jobs.FetchSpec](op.Spec)
	return f.Name(), spec.Turn, err == nil && spec.Turn > 0 && spec.Symbol == f.As && string(spec.Timeframe) == f.Timeframe
}

func (f *followed) see(op ktrdr.Operation) {
	what, turn, is := f.of(op)
	if !is {
		return
	}
	at := time.Unix(turn, 0).UTC()
	if f.Last == nil {
		f.Last = &jobs.FollowTurn{At: at}
	}
	if f.Last.At.Equal(at) {
		f.Last.Operations++
		f.Last.NewBars += newBars(op)
		if !op.Status.Terminal() {
			f.Last.Active++
		}
	}
	i := slices.IndexFunc(f.Failures, func(x jobs.FollowFailure) bool { return x.What == what })
	switch {
	case f.ended[what] || !op.Status.Terminal():
	case op.Status != ktrdr.Failed:
		f.ended[what] = true
		f.known = f.Folder == "" // a series is one thing; of a folder an older operation may be of another file
	case i < 0:
		f.Failures = append(f.Failures, jobs.FollowFailure{What: what, Error: op.ErrorMessage, Since: op.CreatedAt, Operation: op.ID})
	default:
		f.Failures[i].Since = op.CreatedAt
	}
}

// newBars is how many bars an import or a fetch added.
func newBars(op ktrdr.Operation) int {
	var r jobs.LoadResult
	if op.Status != ktrdr.Completed || json.Unmarshal(op.Result, &r) != nil {
		return 0
	}
	switch {
	case r.Merged != nil:
		return r.Merged.Added
	case r.Entry.AddedAt.Before(op.CreatedAt): // the series was there, with these bars
		return 0
	}
	return r.Entry.Bars
}

// lookInto adds what keeps files of a folder from being imported at all.
func (f *followed) lookInto(ctx context.Context, data string) {
	dir, infos, err := priceFiles(data, f.Folder)
	if err != nil {
		f.Failures = append(f.Failures, jobs.FollowFailure{What: f.Folder, Error: err.Error()})
		return
	}
	there := map[string]bool{}
	for _, info := range infos {
		there[info.Name()] = true
		if f.tried(info.Name()) {
			continue
		}
		file := &watchedFile{}
		file.identify(ctx, dir, info.Name(), f.Follow)
		if err := file.refused(info.Name(), info.Size()); err != nil {
			f.Failures = append(f.Failures, jobs.FollowFailure{What: info.Name(), Error: err.Error()})
		}
	}
	f.Failures = slices.DeleteFunc(f.Failures, func(x jobs.FollowFailure) bool { return !there[x.What] }) // taken away: mended
}

// tried says whether a file had an import.
func (f *followed) tried(name string) bool {
	return f.ended[name] || slices.ContainsFunc(f.Failures, func(x jobs.FollowFailure) bool { return x.What == name })
}
