package tui

import (
	"errors"
	"io"

	"github.com/kubeloupe/kubeloupe/trace"
)

// endedWell reports whether the stream came to its proper end.
func (a *app) endedWell() bool {
	return errors.Is(a.ended, io.EOF) || errors.Is(a.ended, trace.ErrClosed)
}

// trouble says what is wrong with the stream for as long as it is; "" when nothing is.
func (a *app) trouble() string {
	switch {
	case a.ended != nil && !a.endedWell():
		return "the stream of events broke: " + a.ended.Error()
	case a.cfg.Player != nil && a.cfg.Player.State().Err != "":
		return "the replay cannot continue: " + a.cfg.Player.State().Err
	case a.ended == nil && a.cfg.Link != nil:
		return a.cfg.Link()
	}
	return ""
}

// note says why there may be nothing to show.
func (a *app) note() string {
	switch t := a.trouble(); {
	case t != "":
		return t
	case a.ended != nil:
		return "the event stream has ended"
	case a.model.Node().Records == 0:
		return "waiting for the first event"
	}
	return ""
}
