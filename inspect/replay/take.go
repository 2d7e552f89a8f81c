package replay

import (
	"cmp"
	"io"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
)

// taken is what Next returns, or how long it waits if that is nothing.
type taken struct {
	recs []trace.Record
	lost uint64
	err  error
	wait time.Duration // negative is until something is changed
}

// take delivers what is due of what was read.
func (p *Player) take(recs []trace.Record) taken {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.restart {
		p.open()
		return p.anew()
	}
	t := taken{recs: recs}
	for len(t.recs) < cap(t.recs) && len(p.items) > 0 {
		it := &p.items[0]
		if len(t.recs) > 0 && (it.Lost > 0 || it.Session != p.at.session) {
			break
		}
		if it.Session != p.at.session {
			p.at, p.began = place{session: it.Session}, false
			return p.anew()
		}
		var due bool
		if due, t.wait = p.due(it); !due {
			break
		}
		if len(t.recs) == 0 {
			t.lost = it.Lost
		}
		t.recs = append(t.recs, it.Rec)
		p.delivered(it)
		p.items = p.items[1:]
	}
	if len(t.recs) == 0 && len(p.items) == 0 && p.ended {
		t.err, t.wait = p.end(), -1
	}
	return t
}

// again tells the reader to begin from an empty model, unless it has one.
func (p *Player) anew() taken {
	p.atEnd, p.err, p.gap = false, nil, 0
	if !p.dirty {
		return taken{}
	}
	p.dirty = false
	return taken{err: ErrRewound}
}

// end stops the clock behind the last record.
func (p *Player) end() error {
	p.land(0)
	p.steps, p.line, p.atEnd = 0, false, true
	p.settle()
	if p.at.last != 0 {
		p.clk.set(p.at.last)
	}
	p.err = p.fault
	switch {
	case p.fault != nil:
		return p.fault
	case p.cfg.Once:
		return io.EOF
	}
	return nil
}

// due says whether a record is to be delivered now, and if not, when; -1 is not before
// something is changed.
func (p *Player) due(it *recording.Item) (bool, time.Duration) {
	if p.jump != nil {
		if it.Earlier || p.jump.over(it) {
			return true, 0
		}
		p.land(it.Rec.Time)
	}
	switch {
	case p.steps > 0:
		p.steps--
		return true, 0
	case p.line:
		p.line = p.cfg.Line != nil && !p.cfg.Line(&it.Rec)
		return true, 0
	case !p.playing:
		return p.first, -1
	case it.Earlier || p.clk.speed >= Max:
		return true, 0
	}
	p.begin(it.Rec.Time)
	if p.clk.now() >= it.Rec.Time {
		return true, 0
	}
	return p.quietFor(it.Rec.Time)
}

// begin sets the clock going with the first record.
func (p *Player) begin(at int64) {
	if !p.began {
		p.began, p.quiet = true, at
		p.clk.set(at)
		p.settle()
	}
}

// quietFor waits for the next record. After MaxGap in which nothing happened the clock leaps to it.
func (p *Player) quietFor(next int64) (due bool, wait time.Duration) {
	end := p.quiet + int64(MaxGap)
	if p.cfg.RealTime || next <= end {
		return false, p.clk.until(next)
	}
	p.gap = time.Duration(next - end)
	if p.clk.now() < end {
		return false, p.clk.until(end)
	}
	p.at.shortened += p.gap
	p.clk.set(next)
	return true, 0
}

func (p *Player) delivered(it *recording.Item) {
	r := &it.Rec
	p.dirty, p.atEnd, p.gap = true, false, 0
	p.at.count++
	p.at.seq = r.Seq
	if it.Earlier {
		return
	}
	p.first = false
	p.at.last, p.quiet = r.Time, r.Time
	if p.jump == nil && (!p.clk.running || p.clk.speed >= Max) {
		p.began = true
		p.clk.set(r.Time)
	}
}

// land ends a jump. Before the first record the clock shows its time.
func (p *Player) land(first int64) {
	if p.jump == nil {
		return
	}
	to := cmp.Or(p.jump.to, p.at.last, first)
	p.jump = nil
	if to != 0 {
		p.began, p.quiet = true, to
		p.clk.set(to)
	}
	p.settle()
}

// settle lets the clock run when it should.
func (p *Player) settle() { p.clk.run(p.playing && p.began && p.jump == nil && !p.atEnd) }
