package pulled

import "maps"

// Counts are the numbers of records on disk, and of checks since the start.
type Counts struct {
	Intents, Records int
	Checks           map[Checked]uint64
}

// Counts counts the records on disk. An error means that a directory cannot be read.
func (s *Store) Counts() (out Counts, err error) {
	s.mu.Lock()
	out.Checks = maps.Clone(s.checks)
	s.mu.Unlock()
	for dir, n := range map[string]*int{s.pulling: &out.Intents, s.pulled: &out.Records} {
		files, err := list(dir)
		if err != nil {
			return out, err
		}
		*n = len(files)
	}
	return out, nil
}
