package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// fileOf is an artifact whose blob is told by a letter.
func fileOf(name string, letter byte) ktrdr.Artifact {
	return ktrdr.Artifact{Name: name, SHA256: ktrdr.Hash{letter}, Size: 1}
}

// researched runs a research to its end: its spec names bars, its child leaves a
// checkpoint and a file, which its result names too.
func (l *lab) researched(run string, generation, index int, made byte, rung string) (root, child ktrdr.Operation) {
	l.Helper()
	bars, _ := json.Marshal(fileOf("bars", 'b'))
	score := 1.0
	n := inRun(run, generation, index, treeSpec{Children: 1, Rung: rung, Score: &score})
	var spec map[string]json.RawMessage
	l.must(json.Unmarshal(n.Spec, &spec))
	spec["bars"] = bars
	n.Spec, _ = json.Marshal(spec)
	root = l.create(n)
	return l.conclude(root, made)
}

// conclude runs the one child of a research to its end.
func (l *lab) conclude(root ktrdr.Operation, made byte) (_, child ktrdr.Operation) {
	l.Helper()
	file, _ := json.Marshal(fileOf("file", made))
	task := l.claim("w")
	f := ending(task, ktrdr.Completed)
	f.Result = json.RawMessage(fmt.Sprintf(`{"artifacts":[%s]}`, file))
	final := checkpoint(task, 1, 1)
	final.Type, final.Artifacts = ktrdr.CheckpointFinal, []ktrdr.Artifact{fileOf("file", made)}
	f.Checkpoint = &final
	child, err := l.Finish(l.ctx(), f)
	l.must(err)
	return l.is(root.ID, ktrdr.Completed), child
}

// compacts requires how many researches are compacted, and which blobs are let
// go of.
func (l *lab) compacts(want int, blobs ...byte) {
	l.Helper()
	n, got, err := l.Compact(l.ctx())
	l.must(err)
	var letters []byte
	for _, h := range got {
		letters = append(letters, h[0])
	}
	if n != want || !slices.Equal(letters, blobs) {
		l.Errorf("%d researches were compacted and let go of %q, want %d and %q", n, letters, want, blobs)
	}
}

// refs is the blobs that rows name, by their letters.
func (l *lab) refs() string {
	l.Helper()
	found := map[byte]bool{}
	for ref, err := range l.BlobRefs(l.ctx()) {
		l.must(err)
		found[ref.SHA256[0]] = true
	}
	var letters []byte
	for c := range found {
		letters = append(letters, c)
	}
	slices.Sort(letters)
	return string(letters)
}

var compactions = map[string]func(*lab){
	"ACheckpointIsSupersededByTwoThatCanBeUsed": func(l *lab) {
		task := l.running()
		save := func(seq int64) {
			l.Helper()
			c := checkpoint(task, seq, seq)
			c.Artifacts = []ktrdr.Artifact{fileOf("state", 'a'+byte(seq))}
			_, err := l.SaveCheckpoint(l.ctx(), c, nil)
			l.must(err)
		}
		for seq := int64(1); seq <= 5; seq++ {
			save(seq)
		}
		l.must(l.SkipCheckpoint(l.ctx(), ktrdr.Skip{Operation: task.Operation, Epoch: task.Epoch, Checkpoint: ktrdr.CheckpointID(1, 4)}))
		blobs, err := l.Supersede(l.ctx(), task.Operation)
		l.must(err)
		same(l, "let go of", blobs, []ktrdr.Hash{{'b'}, {'c'}})
		history, err := l.History(l.ctx(), task.Operation)
		l.must(err)
		if len(history) != 3 || history[0].Seq != 5 || history[2].Seq != 3 {
			l.Errorf("left are %+v, want the 5th, the 4th, which was skipped, and the 3rd", history)
		}
		save(6) // now the 3rd is behind two
		l.finish(task, ktrdr.Failed)
		blobs, err = l.Supersede(l.ctx(), task.Operation)
		l.must(err)
		same(l, "let go of by what has ended", len(blobs), 0)
		_, err = l.Supersede(l.ctx(), "op_dummy_nobody")
		l.must(err)
	},

	"AResearchIsCompactedWhenItsGenerationIsClosed": func(l *lab) {
		n := inRun("r", 0, 0, treeSpec{Children: 1})
		n.NewRun = &ktrdr.NewRun{Size: 1, Planned: 2}
		root := l.create(n)
		root, child := l.conclude(root, 'm')
		l.compacts(0)
		same(l, "named before", l.refs(), "m")
		l.research("r", 1, 0)
		l.closes("r", 0, true)
		l.compacts(1, 'm')
		l.compacts(0)
		same(l, "named after", l.refs(), "")
		for _, before := range []ktrdr.Operation{root, child} {
			op := l.op(before.ID)
			if !op.Compacted || op.Checkpoint != nil || len(op.Result) == 0 {
				l.Errorf("%s is compacted: %v, shows the checkpoint %v and the result %s", op.ID, op.Compacted, op.Checkpoint, op.Result)
			}
			same(l, "result", string(op.Result), string(before.Result))
			same(l, "spec", string(op.Spec), string(before.Spec))
			history, err := l.History(l.ctx(), op.ID)
			l.must(err)
			same(l, "checkpoints", len(history), 0)
		}
	},

	"ACompactedResearchKeepsItsBars": func(l *lab) {
		l.researched("r", 0, 0, 'm', "nothing")
		same(l, "named before", l.refs(), "bm")
		l.closes("r", 0, true)
		l.compacts(1, 'm')
		same(l, "named after", l.refs(), "b")
	},

	"AFinalistAndWhatWasLookedAtStayWhole": func(l *lab) {
		market := l.market("A").Market
		prices := l.refs()
		l.researched("r", 0, 0, 'm', ktrdr.RungFinalist)
		looked, _ := l.researched("r", 0, 1, 'n', "nothing")
		l.create(ktrdr.NewOperation{Look: &ktrdr.NewLook{Kind: ktrdr.LookByHand, Research: looked.ID, Markets: []string{market}}})
		l.closes("r", 0, true)
		l.compacts(0)
		same(l, "named", l.refs(), prices+"bmn")
	},

	"WhatCanBeResumedIsNotCompacted": func(l *lab) {
		root := l.research("r", 0, 0)
		task := l.claim("w")
		l.save(task, 1, 1)
		l.finish(task, ktrdr.Failed)
		l.is(root.ID, ktrdr.Failed)
		l.closes("r", 0, true)
		if l.op(root.ID).Checkpoint == nil {
			l.Fatal("the failed research has no checkpoint")
		}
		l.compacts(0)
		_, err := l.DeleteCheckpoints(l.ctx(), root.ID)
		l.must(err)
		l.compacts(1)
	},

	"AResearchIsNotCompactedBesideAChildThatWasResumed": func(l *lab) {
		root := l.research("r", 0, 0)
		task := l.claim("w")
		l.save(task, 1, 1)
		l.finish(task, ktrdr.Failed)
		l.closes("r", 0, true)
		_, err := l.DeleteCheckpoints(l.ctx(), root.ID)
		l.must(err)
		_, err = l.Resume(l.ctx(), task.Operation)
		l.must(err)
		l.compacts(0)
		again := l.claim("w")
		if again.Operation != task.Operation || again.Checkpoint == nil {
			l.Fatalf("claimed %s with the checkpoint %+v, want %s with the one that it left", again.Operation, again.Checkpoint, task.Operation)
		}
		l.compacts(0)
		l.finish(again, ktrdr.Failed)
		l.compacts(1)
		_, err = l.Resume(l.ctx(), task.Operation)
		l.refused(err, ktrdr.CodeNoCheckpoint)
		if !strings.Contains(fmt.Sprint(err), "compacted") {
			l.Errorf("a compacted child is refused with %q, which does not say why", err)
		}
	},

	"AResearchOfACancelledRunIsCompactedWithItsCheckpoint": func(l *lab) {
		stopped := func(run string) ktrdr.Operation {
			root := l.research(run, 0, 0)
			task := l.claim("w")
			l.save(task, 1, 1)
			l.finish(task, ktrdr.Failed)
			if op := l.is(root.ID, ktrdr.Failed); op.Checkpoint == nil {
				l.Fatalf("%s has no checkpoint", op.ID)
			}
			return root
		}
		kept, gone := stopped("r"), stopped("s")
		l.closes("r", 0, true)
		l.cancelRun("s")
		_, err := l.EndRun(l.ctx(), "s")
		l.must(err)
		_, err = l.Resume(l.ctx(), gone.ID)
		l.refused(err, ktrdr.CodeConflict)
		l.compacts(1)
		same(l, "compacted, of the run that was not cancelled", l.op(kept.ID).Compacted, false)
		same(l, "compacted, of the cancelled run", l.op(gone.ID).Compacted, true)
		_, err = l.Resume(l.ctx(), kept.ID)
		l.must(err)
	},

	"APinnedResearchStaysWholeUntilItIsUnpinned": func(l *lab) {
		root, child := l.researched("r", 0, 0, 'm', "nothing")
		l.closes("r", 0, true)
		op, err := l.SetPinned(l.ctx(), child.ID, true, false) // its child speaks for it
		l.must(err)
		if op.ID != root.ID || !op.Pinned {
			l.Errorf("%s is pinned: %v, want %s", op.ID, op.Pinned, root.ID)
		}
		l.compacts(0)
		_, err = l.SetPinned(l.ctx(), root.ID, false, false)
		l.must(err)
		l.compacts(1, 'm')
		_, err = l.SetPinned(l.ctx(), root.ID, true, false)
		l.refused(err, ktrdr.CodeConflict)
		if op := l.op(root.ID); op.Pinned || !op.Compacted {
			l.Errorf("after the refusal it is pinned: %v, compacted: %v", op.Pinned, op.Compacted)
		}
		op, err = l.SetPinned(l.ctx(), root.ID, true, true)
		l.must(err)
		if !op.Pinned || op.Compacted || l.op(child.ID).Compacted {
			l.Errorf("with its blobs back it is pinned: %v, compacted: %v", op.Pinned, op.Compacted)
		}
		same(l, "named", l.refs(), "bm")
		same(l, "result of the pinned one", string(l.op(root.ID).Result), string(root.Result))
		l.compacts(0)
		_, err = l.SetPinned(l.ctx(), l.create(ktrdr.NewOperation{}).ID, true, false)
		l.refused(err, ktrdr.CodeInvalid)
		_, err = l.SetPinned(l.ctx(), "op_dummy_nobody", true, false)
		l.refused(err, ktrdr.CodeNotFound)
	},

	"BlobsAreNamedByCheckpointsAndByEveryOtherRow": func(l *lab) {
		l.researched("r", 0, 0, 'm', "nothing")
		l.closes("r", 0, true)
		l.compacts(1, 'm')
		spec, _ := json.Marshal(map[string]ktrdr.Artifact{"model": fileOf("file", 's')})
		l.create(ktrdr.NewOperation{Spec: spec})
		task := l.claim("w")
		c := checkpoint(task, 1, 1)
		c.Artifacts = []ktrdr.Artifact{fileOf("state", 'c')}
		_, err := l.SaveCheckpoint(l.ctx(), c, nil)
		l.must(err)
		bars := l.addBars(newBars("EURUSD", "1h", 'f', 0))
		const value = `{"name":"value","sha256":"7400000000000000000000000000000000000000000000000000000000000000","size":9}`
		_, err = l.Saver().Put(l.ctx(), thread.Put{
			Thread: "of another program", Metadata: json.RawMessage(`{}`),
			Checkpoint:  json.RawMessage(`{"v":4,"id":"1","ts":"2026-01-01T00:00:00Z","channel_versions":{"x":"1"},"versions_seen":{}}`),
			NewVersions: map[string]json.RawMessage{"x": json.RawMessage(`"1"`)},
			Values:      map[string]thread.Value{"x": {Type: thread.BlobPrefix + value + "}"}},
		})
		l.must(err)
		asked := []ktrdr.Hash{{'m'}, {'s'}, {'c'}, {'x'}, {'t'}, bars.File.SHA256}
		named, err := l.BlobsNamed(l.ctx(), asked, true)
		l.must(err)
		same(l, "named by checkpoints", named, map[ktrdr.Hash]bool{{'c'}: true})
		named, err = l.BlobsNamed(l.ctx(), asked, false)
		l.must(err)
		same(l, "named", named, map[ktrdr.Hash]bool{{'c'}: true, {'s'}: true, {'t'}: true, bars.File.SHA256: true})
	},
}
