package semaphore

import "context"

// Enter acquires a slot for a single piece of work of a kind and begins it. Leave ends it.
func (s *Slots) Enter(ctx context.Context, t Turn, kind string) (*Work, error) {
	for {
		p, err := s.Acquire(ctx, t)
		if err != nil {
			return nil, err
		}
		if w, ok := p.Begin(ctx, kind); ok {
			return w, nil
		}
	}
}

// Leave ends the work and releases its slot. well says that its duration is a sample of such work. It reports whether
// the work took too long.
func (w *Work) Leave(well bool) (overstayed bool) {
	w.End(well)
	w.place.Release()
	return w.place.Overstayed()
}
