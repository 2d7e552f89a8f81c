package recording

import "os"

// loadParts reads the indexes of a file and of its older part.
func (r *Reader) loadParts(size int64) error {
	ix, err := indexFile(r.files[0], size)
	if err != nil {
		return err
	}
	r.info = Info{Format: FormatRecording, Version: ix.version, Bytes: size, Parts: 1, Torn: ix.torn}
	if old, f := r.before(ix); old != nil {
		r.files = []*os.File{f, r.files[0]}
		r.info.Parts++
		r.join(old, 0)
		r.join(ix, 1)
	} else {
		r.join(ix, 0)
	}
	r.describe()
	r.sum()
	return nil
}

// before opens the older part of a file, if there is one.
func (r *Reader) before(ix *index) (*index, *os.File) {
	if len(ix.sessions) == 0 || ix.sessions[0].Part < 2 {
		return nil, nil
	}
	f, err := os.Open(older(r.files[0].Name()))
	if err != nil {
		return nil, nil
	}
	st, err := f.Stat()
	if err == nil && st.Mode().IsRegular() {
		old, err := indexFile(f, st.Size())
		if err == nil && len(old.sessions) > 0 && follows(ix.sessions[0].Header, old.sessions[0].Header) {
			r.info.Bytes += st.Size()
			return old, f
		}
	}
	_ = f.Close() // nothing was written
	return nil, nil
}

func follows(h, old Header) bool { return h.Recording == old.Recording && h.Part == old.Part+1 }

// join appends the content of one file.
func (r *Reader) join(ix *index, part int) {
	if len(ix.sessions) == 0 {
		ix.sessions = []Session{{}} // its header is damaged
	}
	base := len(r.sessions)
	if part > 0 && ix.sessions[0].Continues {
		base-- // the session began in the older part
	}
	begins := make([]int, len(ix.frames)+1) // the new position of each frame
	for i, f := range ix.frames {
		begins[i] = len(r.frames)
		if part > 0 && f.flags&flagRepeat != 0 {
			continue
		}
		f.part, f.session = part, base+f.session
		r.frames = append(r.frames, f)
	}
	begins[len(ix.frames)] = len(r.frames)
	for i, s := range ix.sessions {
		if base+i == len(r.sessions) {
			s.frame = begins[s.frame]
			r.sessions = append(r.sessions, s)
		}
	}
	t := troubles{skipped: r.info.Skipped, damage: r.info.Damage}
	t.merge(ix.troubles)
	r.info.Skipped, r.info.Damage = t.skipped+ix.tornRecords, t.damage
}

// describe takes the data in the headers.
func (r *Reader) describe() {
	first, last := r.sessions[0].Header, r.sessions[len(r.sessions)-1].Header
	r.info.Created, r.info.Node, r.info.Kubeloupe = first.Created, last.Node, last.Kubeloupe
	r.info.Sessions, r.info.Dropped = len(r.sessions), first.Before.Records
}
