package recording

import "time"

// Formats that are read.
const (
	FormatRecording = "recording"
	FormatJSONL     = "JSON lines"
)

// Info is the known data about a recording. Data in the headers of its frames is known when it is open; damage inside frames is
// found when they are read. For a stream, only the data of the part that was read is known.
type Info struct {
	Format  string `json:"format"`
	Version int    `json:"version,omitempty"` // of the format
	// Node and Kubeloupe are as the last session says, Created is of the first.
	Node      string    `json:"node,omitempty"`
	Kubeloupe string    `json:"kubeloupe,omitempty"`
	Created   time.Time `json:"created,omitzero"`
	// First and Last are times of records, leaving out what was before the recording began.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Sessions and Parts count runs of the recorder, and files.
	Sessions int    `json:"sessions,omitempty"`
	Parts    int    `json:"parts,omitempty"`
	Records  uint64 `json:"records"`
	// Lost is how many records the recorder itself was too slow for or could not write.
	Lost uint64 `json:"lost,omitempty"`
	// Skipped is how many records damage took, at least.
	Skipped uint64 `json:"skipped,omitempty"`
	// Unknown is how many records are of kinds that this version does not know.
	Unknown uint64 `json:"unknown,omitempty"`
	// Dropped is how many records were in parts that later ones replaced.
	Dropped uint64 `json:"dropped,omitempty"`
	// Torn says that the end is cut off: the writer was, or it writes still.
	Torn bool `json:"torn,omitempty"`
	// Bytes is the size of all files.
	Bytes int64 `json:"bytes,omitempty"`
	// Stream says that it can be read once.
	Stream bool `json:"stream,omitempty"`
	// Damage says where damage was, for people; the first few places.
	Damage []string `json:"damage,omitempty"`
}

// Session is one run of a recorder.
type Session struct {
	Header
	// First and Last are times of its records; zero when it has none.
	First, Last time.Time
	// Records is the number of remaining records.
	Records uint64

	frame int // its first
}

// troubles gathers what was wrong.
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
