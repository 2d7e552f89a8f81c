package recording

import "time"

// The readable formats.
const (
	FormatRecording = "recording"
	FormatJSONL     = "JSON lines"
)

// Info is the known data about a recording. Data in the headers of its frames is known when it is open; damage inside
// frames is found when they are read. For a stream, only data of the part that was read is known.
type Info struct {
	Format  string `json:"format"`
	Version int    `json:"version,omitempty"` // of the format
	// Node and Kubeloupe are from the last session, Created is from the first.
	Node      string    `json:"node,omitempty"`
	Kubeloupe string    `json:"kubeloupe,omitempty"`
	Created   time.Time `json:"created,omitzero"`
	// First and Last are times of records, without those from before the recording began.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Sessions and Parts count runs of the recorder, and files.
	Sessions int    `json:"sessions,omitempty"`
	Parts    int    `json:"parts,omitempty"`
	Records  uint64 `json:"records"`
	// Lost is how many records the recorder lost, because it was too slow or could not write them.
	Lost uint64 `json:"lost,omitempty"`
	// Skipped is how many records were damaged, at least.
	Skipped uint64 `json:"skipped,omitempty"`
	// Unknown is how many records have a kind that this version does not know.
	Unknown uint64 `json:"unknown,omitempty"`
	// Dropped is how many records were in parts that later ones replaced.
	Dropped uint64 `json:"dropped,omitempty"`
	// Torn says that the end is incomplete: the writer was interrupted, or is still writing.
	Torn bool `json:"torn,omitempty"`
	// Bytes is the size of all files.
	Bytes int64 `json:"bytes,omitempty"`
	// Stream says that it can be read only once.
	Stream bool `json:"stream,omitempty"`
	// Damage lists where damage was found, for people; only the first few locations.
	Damage []string `json:"damage,omitempty"`
}

// Session is one run of a recorder.
type Session struct {
	Header
	// First and Last are times of its records; zero if it has none.
	First, Last time.Time
	// Records is the number of remaining records.
	Records uint64

	frame int // its first
}

// troubles collects errors.
type troubles struct {
	skipped, unknown uint64
	damage           []string
}

const maxDamage = 8

func (t *troubles) note(what string) {
	if len(t.damage) < maxDamage {
		t.damage = append(t.damage, what)
	}
}

func (t *troubles) merge(o troubles) {
	t.skipped += o.skipped
	t.unknown += o.unknown
	for _, d := range o.damage {
		t.note(d)
	}
}
