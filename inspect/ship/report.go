package ship

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// report publishes how the export does, until read is closed and the sender has ended.
func (s *Shipper) report(ended <-chan struct{}) {
	var last trace.SpanExport
	due := time.NewTimer(0) // when counts may be published
	defer due.Stop()
	<-due.C
	waits := false
	for {
		select {
		case <-s.changed:
			now := s.state()
			first := last.Sent == 0 && now.Sent > 0
			switch {
			case now.State != last.State && (last.State != "" || now.Sent > 0 || now.Err != ""), first:
				trace.Point(s.cfg.Bus, trace.Span{}, now)
				last, waits = now, false
				due.Stop()
			case !waits && now != last:
				due.Reset(about)
				waits = true
			}
		case <-due.C:
			waits = false
			if now := s.state(); now != last {
				trace.Point(s.cfg.Bus, trace.Span{}, now)
				last = now
			}
		case <-ended:
			now := s.state()
			now.State = trace.ExportEnded
			if now.Sent+now.Dropped+now.Refused > 0 {
				trace.Point(s.cfg.Bus, trace.Span{}, now)
			}
			return
		}
	}
}

// state returns how the export does.
func (s *Shipper) state() trace.SpanExport {
	t := s.sender.tell()
	queued, dropped := s.queue.counts()
	e := trace.SpanExport{
		Endpoint: s.cfg.Endpoint, State: trace.ExportSending, Sent: t.sent, Refused: t.refused, Dropped: dropped, Skipped: s.skipped.Load(), Queued: queued + t.flying,
	}
	if t.failing {
		e.State, e.Err = trace.ExportFailing, t.err
	}
	return e
}
