package library

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// LeastEvery is how often a series is fetched, or a folder looked at, at most.
const LeastEvery = 5 * time.Second

// MostFollows is how many series and folders are kept current at most.
const MostFollows = 500

// Follow keeps a series current, or what a folder has: it is looked at again and again. What was
// set before for the series or the folder is replaced.
func (l *Library) Follow(ctx context.Context, f jobs.Follow) error {
	every := time.Duration(f.Seconds) * time.Second
	if every < LeastEvery || every > 31*24*time.Hour {
		return wrong("it is looked at every %v: choose from %v to 31 days", every, LeastEvery)
	}
	if f.Folder != "" && !filepath.IsAbs(f.Folder) {
		return wrong("the folder %q is not absolute: write it from the root on", f.Folder)
	}
	all, err := l.Follows(ctx)
	if err != nil {
		return err
	}
	replaces := func(g jobs.Follow) bool { return g.Name() == f.Name() }
	if len(all) >= MostFollows && !slices.ContainsFunc(all, replaces) {
		return wrong("%d series and folders are kept current already, which is the most: end one with `ktrdr data unfollow`", len(all))
	}
	content, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return l.store.SaveDocument(ctx, ktrdr.Document{
		Kind: ktrdr.FollowDocument, Name: f.Name(), Content: string(content), Origin: ktrdr.DocumentFromUser,
	}, true)
}

// Unfollow ends Follow; CodeNotFound. The series stays.
func (l *Library) Unfollow(ctx context.Context, f jobs.Follow) error {
	return l.store.DeleteDocument(ctx, ktrdr.FollowDocument, f.Name())
}

// Unfollowed refuses what is to be done with a series if a source keeps it current:
// CodeConflict. No timeframe means all of the symbol.
func (l *Library) Unfollowed(ctx context.Context, symbol string, tf market.Timeframe, do string) error {
	all, err := l.Follows(ctx)
	if err != nil {
		return err
	}
	var names, ends []string
	for _, f := range all {
		if f.Folder == "" && strings.EqualFold(f.As, symbol) && (tf == "" || f.Timeframe == string(tf)) {
			names, ends = append(names, f.Name()), append(ends, "`ktrdr data unfollow "+f.Name()+"`")
		}
	}
	if names == nil {
		return nil
	}
	return ktrdr.Errorf(ktrdr.CodeConflict, "%s is kept current, and would come back: end that with %s, then %s it",
		text.List(names, "and"), text.List(ends, "and"), do)
}

// Follows lists the series that are kept current.
func (l *Library) Follows(ctx context.Context) ([]jobs.Follow, error) {
	list, err := l.store.Documents(ctx, ktrdr.FollowDocument)
	if err != nil {
		return nil, err
	}
	all := make([]jobs.Follow, len(list))
	for i, d := range list {
		if err := json.Unmarshal([]byte(d.Content), &all[i]); err != nil {
			return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "how %s is kept current cannot be read: set it again with `ktrdr data follow`: %w",
				d.Name, err)
		}
	}
	return all, nil
}
