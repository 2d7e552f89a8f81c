package replay

import (
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
)

// change makes a change and has Next look at it.
func (p *Player) change(do func()) {
	p.mu.Lock()
	do()
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Pause stops the replay or lets it continue.
func (p *Player) Pause(on bool) {
	p.change(func() {
		p.playing = !on
		p.steps, p.line = 0, false
		p.settle()
	})
}

// SetSpeed plays so many times as fast as it happened, between MinSpeed and MaxSpeed, or Max.
func (p *Player) SetSpeed(speed float64) {
	p.change(func() { p.clk.pace(speedOf(speed)) })
}

// Step pauses and delivers the next n records, or goes back by -n.
func (p *Player) Step(n int) {
	p.change(func() {
		p.halt()
		switch {
		case n > 0:
			p.steps += n
		case n < 0 && p.rewind(p.at.session):
			keep := p.at.count - min(p.at.count, uint64(-n))
			p.at = place{session: p.at.session}
			p.jump = &jump{over: func(*recording.Item) bool { return p.at.count < keep }}
		}
	})
}

// StepLine pauses and delivers records up to the next that Config.Line wants.
func (p *Player) StepLine() {
	p.change(func() {
		p.halt()
		p.line = true
	})
}

func (p *Player) halt() {
	p.playing, p.line = false, false
	p.settle()
}

// Seek jumps to a time: all records up to it are delivered immediately. A time before the first or after the last record means that
// record.
func (p *Player) Seek(t time.Time) {
	info := p.rd.Info()
	p.change(func() { p.seek(t, info) })
}

func (p *Player) seek(t time.Time, info recording.Info) {
	if t.Before(info.First) {
		t = info.First
	}
	if t.After(info.Last) && !info.Stream {
		t = info.Last
	}
	to, session := t.UnixNano(), p.sessionAt(t)
	if session != p.at.session || to < p.at.last {
		if !p.rewind(session) {
			return
		}
		p.at = place{session: session}
	}
	p.leap(&jump{over: func(it *recording.Item) bool { return it.Rec.Time <= to }, to: to})
	p.clk.set(to)
}

// SeekSeq jumps to the record with a number, in the session in which it is.
func (p *Player) SeekSeq(seq uint64) {
	p.change(func() {
		if seq < p.at.seq {
			if !p.rewind(p.at.session) {
				return
			}
			p.at = place{session: p.at.session}
		}
		session := p.at.session
		p.leap(&jump{over: func(it *recording.Item) bool { return it.Session == session && it.Rec.Seq <= seq }})
	})
}

func (p *Player) leap(j *jump) {
	p.jump, p.steps, p.line, p.atEnd, p.gap = j, 0, false, false, 0
	p.settle()
}

// rewind has a session read from its beginning, which a stream cannot be.
func (p *Player) rewind(session int) bool {
	if len(p.sessions) == 0 {
		return false
	}
	p.restart, p.atEnd, p.steps, p.gap = true, false, 0, 0
	p.began = false
	p.at.session = session
	return true
}

// sessionAt is the session that was being recorded at a time, or the one before.
func (p *Player) sessionAt(t time.Time) int {
	at := 0
	if len(p.sessions) == 0 {
		at = p.at.session
	}
	for i, s := range p.sessions {
		if !s.First.IsZero() && !s.First.After(t) {
			at = i
		}
	}
	return at
}

// NextMark jumps to the next mark; false when there is none.
func (p *Player) NextMark() (Mark, bool) {
	p.mu.Lock()
	i := p.passed(p.clk.now() + 1)
	p.mu.Unlock()
	return p.toMark(i)
}

// PrevMark jumps to the mark before. While it plays, one that was passed within the last
// second of the wall's time does not count, so that pressing it again goes further back.
func (p *Player) PrevMark() (Mark, bool) {
	p.mu.Lock()
	now := p.clk.now()
	if p.clk.running {
		now -= int64(float64(time.Second) * min(p.clk.speed, MaxSpeed))
	}
	i := p.passed(now) - 1
	p.mu.Unlock()
	return p.toMark(i)
}

func (p *Player) toMark(i int) (Mark, bool) {
	if i < 0 || i >= len(p.cfg.Marks) {
		return Mark{}, false
	}
	p.Seek(p.cfg.Marks[i].Time)
	return p.cfg.Marks[i], true
}
