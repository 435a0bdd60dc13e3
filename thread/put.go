package thread

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/ktrdr/ktrdr"
)

const (
	runKey      = "run_id"
	countersKey = "counters_since_delta_snapshot"

	// SendsChannel holds the tasks of the next step in formats before 4.
	SendsChannel = "__pregel_tasks"
	sendsFormat  = 4

	longestTTL = 100 * 365 * 24 * time.Hour
)

// ParsedPut is a valid put.
type ParsedPut struct {
	Ref      Ref    // the new checkpoint
	Parent   string // may be empty, and need not exist
	Format   int    // the checkpoint's v
	Run      string // the metadata's run_id, when HasRun
	HasRun   bool
	TTL      time.Duration // 0 keeps the thread
	Latest   *string       // the newest checkpoint that the put expects; nil: any
	Channels map[string]Channel
}

// Channel is one channel of a put.
type Channel struct {
	Version string // canonical JSON
	New     bool   // named in new_versions: its value is not carried over
	Value   *Value // nil when the put has none
}

// ParsePut validates and parses a put; CodeInvalid, or CodeForbidden for the
// thread of an operation.
func ParsePut(p Put) (ParsedPut, error) {
	if err := CheckWritable(p.Tenant, p.Thread); err != nil {
		return ParsedPut{}, err
	}
	d := ParsedPut{Ref: Ref{Tenant: p.Tenant, Thread: p.Thread, NS: p.NS}, Parent: p.Parent, Latest: p.Latest}
	versions, err := d.readCheckpoint(p.Checkpoint)
	if err != nil {
		return ParsedPut{}, err
	}
	err = cmp.Or(
		CheckRef(d.Ref),
		name("parent_checkpoint_id", p.Parent, maxCheckpoint),
		d.readMetadata(p.Metadata),
		d.readTTL(p.TTLSeconds),
		d.readChannels(versions, p),
	)
	if err != nil {
		return ParsedPut{}, err
	}
	return d, nil
}

// readCheckpoint reads id and v of the client's checkpoint and returns its channel_versions.
func (d *ParsedPut) readCheckpoint(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if !utf8.Valid(raw) {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "checkpoint must be valid UTF-8")
	}
	var id, format, channels json.RawMessage // by exact name: struct fields would match any case
	err := members(raw, func(name string, value json.RawMessage) {
		switch name {
		case "id":
			id = value
		case "v":
			format = value
		case "channel_versions":
			channels = value
		}
	})
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "checkpoint must be a JSON object: %w", err)
	}
	if id != nil {
		d.Ref.Checkpoint, err = text(id)
	}
	if err != nil || d.Ref.Checkpoint == "" {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "checkpoint.id must be a string that is not empty")
	}
	if format != nil {
		var v float64
		if err := json.Unmarshal(format, &v); err != nil || math.Abs(v) > 1000 {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "checkpoint.v must be a small number")
		}
		d.Format = int(v)
	}
	if channels == nil {
		return nil, nil
	}
	versions := make(map[string]json.RawMessage)
	err = members(channels, func(name string, value json.RawMessage) { versions[name] = value })
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "checkpoint.channel_versions must be a JSON object: %w", err)
	}
	return versions, nil
}

func (d *ParsedPut) readMetadata(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	if !utf8.Valid(raw) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "metadata must be valid UTF-8")
	}
	var run json.RawMessage
	err := members(raw, func(name string, value json.RawMessage) {
		if name == runKey {
			run = value
		}
	})
	if err != nil {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "metadata must be a JSON object: %w", err)
	}
	if run == nil || run[0] != '"' {
		return nil
	}
	if d.Run, err = text(run); err != nil {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "metadata.run_id: %w", err)
	}
	d.HasRun = true
	return name("metadata.run_id", d.Run, maxThread)
}

func (d *ParsedPut) readTTL(seconds float64) error {
	if math.IsNaN(seconds) || seconds < 0 || seconds > longestTTL.Seconds() {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "ttl_seconds must be between 0 and 100 years")
	}
	d.TTL = time.Duration(seconds * float64(time.Second))
	return nil
}

// readChannels joins channel_versions, new_versions and the values.
func (d *ParsedPut) readChannels(versions map[string]json.RawMessage, p Put) error {
	d.Channels = make(map[string]Channel, len(versions))
	add := func(channel string, raw json.RawMessage, c Channel) error {
		if err := required("a channel's name", channel, maxChannel); err != nil {
			return err
		}
		version, err := Canonical(raw)
		if err != nil {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "version of channel %q: %w", channel, err)
		}
		c.Version = version
		d.Channels[channel] = c
		return name("a channel's version", version, maxVersion)
	}
	for channel, raw := range versions {
		if err := add(channel, raw, Channel{}); err != nil {
			return err
		}
	}
	for channel, raw := range p.NewVersions {
		c := Channel{New: true}
		if v, ok := p.Values[channel]; ok {
			if err := name("the type of a channel's value", v.Type, MaxType); err != nil {
				return err
			}
			c.Value = &v
		}
		if own, ok := versions[channel]; ok {
			raw = own // later checkpoints are compared with it
		} else if c.Value == nil {
			continue // no longer a channel of the checkpoint
		}
		if err := add(channel, raw, c); err != nil {
			return err
		}
	}
	for channel := range p.Values {
		if _, ok := p.NewVersions[channel]; !ok {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "channel_values names channel %q, which new_versions does not", channel)
		}
	}
	return nil
}

// NeedsParent says whether a value may have to be carried over.
func (d ParsedPut) NeedsParent() bool {
	for _, c := range d.Channels {
		if !c.New {
			return d.Parent != ""
		}
	}
	return false
}

// NeedsSends says whether a tuple of this format includes its parent's writes on SendsChannel.
func NeedsSends(format int, parent string) bool { return format < sendsFormat && parent != "" }

// DeltaChannels names the channels whose value must be rebuilt from the writes on
// the parent chain since the last snapshot, as the metadata counts them.
func DeltaChannels(metadata json.RawMessage) []string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(metadata, &fields) != nil {
		return nil
	}
	var counters map[string]json.RawMessage
	if json.Unmarshal(fields[countersKey], &counters) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(counters))
}
