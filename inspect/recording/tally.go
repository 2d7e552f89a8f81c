package recording

import "time"

// Info returns the data that is known so far.
func (r *Reader) Info() Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	info := r.info
	info.Damage = append([]string(nil), info.Damage...)
	return info
}

// Sessions returns the sessions in order; none for a stream.
func (r *Reader) Sessions() []Session { return append([]Session(nil), r.sessions...) }

// sum adds up the data in the frames' headers.
func (r *Reader) sum() {
	var first, last int64
	for i := range r.frames {
		f := &r.frames[i]
		r.info.Records += uint64(f.records)
		r.info.Lost += f.lost
		s := &r.sessions[f.session]
		s.Records += uint64(f.records)
		if f.first == 0 || f.flags&flagEarlier != 0 {
			continue
		}
		if first == 0 {
			first = f.first
		}
		if s.First.IsZero() {
			s.First = time.Unix(0, f.first).UTC()
		}
		s.Last = time.Unix(0, f.last).UTC()
		last = max(last, f.last)
	}
	if first != 0 {
		r.info.First, r.info.Last = time.Unix(0, first).UTC(), time.Unix(0, last).UTC()
	}
}

// sees counts an item of a stream.
func (r *Reader) sees(it *Item) {
	if !r.info.Stream {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.info.Records++
	r.info.Lost += it.Lost
	if it.Earlier {
		return
	}
	if r.info.First.IsZero() {
		r.info.First = it.Rec.At().UTC()
	}
	r.info.Last = it.Rec.At().UTC()
}

// report counts the errors of a chunk, the first time it is read.
func (r *Reader) report(c chunk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.n < r.told {
		return
	}
	r.told = c.n + 1
	t := troubles{skipped: r.info.Skipped, unknown: r.info.Unknown, damage: r.info.Damage}
	t.merge(c.troubles)
	r.info.Skipped, r.info.Unknown, r.info.Damage = t.skipped, t.unknown, t.damage
	r.info.Torn = r.info.Torn || c.torn
}
