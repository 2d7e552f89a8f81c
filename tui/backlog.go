package tui

import "github.com/kubeloupe/kubeloupe/trace"

// maxBacklog bounds what is kept while the screen is frozen.
const maxBacklog = 32768

// backlog holds the records that came while the screen is frozen. Of too many
// it keeps the last.
type backlog struct {
	frozen bool
	recs   []trace.Record
	lost   uint64 // by the source, and before the first of recs
}

func (b *backlog) add(recs []trace.Record, lost uint64) {
	b.recs = append(b.recs, recs...)
	b.lost += lost
	if over := len(b.recs) - maxBacklog; over > maxBacklog/8 {
		b.recs = append(b.recs[:0], b.recs[over:]...)
		b.lost += uint64(over)
	}
}

// waiting is how many records are counted for the header, lost ones included.
func (b *backlog) waiting() int { return len(b.recs) + int(b.lost) }

// take returns what waits and thaws.
func (b *backlog) take() (recs []trace.Record, lost uint64) {
	recs, lost = b.recs, b.lost
	*b = backlog{}
	return recs, lost
}
