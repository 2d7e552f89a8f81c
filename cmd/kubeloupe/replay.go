package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/inspect/replay"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/printer"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui"
)

// replaying is one run of the replay command.
type replaying struct {
	s      streams
	speed  string
	real   bool
	paused bool
	view   string
	theme  theme
	output string
	noTUI  bool
}

func newReplay(s streams) *cobra.Command {
	r := &replaying{s: s}
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Show a recorded session in the UI, as if it were live",
		Long: `Show a recorded session, or the output of run -o json, in the same UI as a live session. You can pause, step, change the speed, and
jump to a time or to the next cause (? lists the keys). Without a terminal, the command prints one line per event, without delay.`,
		Example: `  kubeloupe run --record session.klr ...
  kubeloupe replay session.klr --speed 4
  kubeloupe replay session.klr -o text | less`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return r.run(c.Context(), args[0]) },
	}
	f := c.Flags()
	f.StringVar(&r.speed, "speed", "1", "speed relative to real time, 0.1 to 1000, or max")
	f.BoolVar(&r.real, "real-time", false, "keep long pauses; by default, a pause without events is shortened to two seconds")
	f.BoolVar(&r.paused, "paused", false, "start paused")
	f.StringVar(&r.view, "view", "", "the first view, such as pod (? lists the views)")
	r.theme.add(f)
	f.StringVarP(&r.output, "output", "o", "", "print instead of showing the UI: text, wide or json")
	f.BoolVar(&r.noTUI, "no-tui", false, "print lines even on a terminal")
	f.SortFlags = false
	return c
}

func (r *replaying) run(ctx context.Context, file string) error {
	speed, err := parseSpeed(r.speed)
	if err != nil {
		return userError{err}
	}
	if err := checkLook(r.output, r.view); err != nil {
		return userError{err}
	}
	rd, err := recording.Open(file)
	if err != nil {
		return userError{err}
	}
	defer rd.Close() //nolint:errcheck // it was only read
	if r.noTUI || r.output != "" || !canUI(r.s) {
		o := observed{from: file}
		src, closing, err := o.open(ctx, r.s.in, false)
		if err != nil {
			return err
		}
		defer closing()
		return printer.Copy(ctx, src, sinkFor(r.output, r.s.out))
	}
	marks, err := causesIn(rd)
	if err != nil {
		return err
	}
	p := replay.NewPlayer(rd, replay.Config{
		Speed: speed, Paused: r.paused, RealTime: r.real, Marks: marks, Line: func(rec *trace.Record) bool { return say.Line(rec) != "" },
	})
	return unlessEnded(ctx, tui.Run(ctx, tui.Config{Source: p, Player: p, Now: p.Now, In: r.s.in, Out: screen(r.s.out), ViewName: r.view, Theme: string(r.theme)}))
}

func parseSpeed(text string) (float64, error) {
	if text == "max" {
		return replay.Max, nil
	}
	var speed float64
	if n, err := fmt.Sscanf(text, "%g", &speed); n != 1 || err != nil || speed < replay.MinSpeed || speed > replay.MaxSpeed {
		return 0, fmt.Errorf("--speed %q: must be %g to %g, or max", text, replay.MinSpeed, float64(replay.MaxSpeed))
	}
	return speed, nil
}

// causesIn finds the causes of a recording: the places that are worth a jump.
func causesIn(rd *recording.Reader) ([]replay.Mark, error) {
	s := session.New(session.Options{})
	for item, err := range rd.All() {
		if err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, err
		}
		s.Lost(item.Lost)
		s.Apply(&item.Rec)
	}
	var marks []replay.Mark
	for _, l := range s.Runs() {
		for _, f := range cause.Find(s.Case(l, s.Last())) {
			if len(f.Evidence) > 0 {
				marks = append(marks, replay.Mark{Time: f.Evidence[0].Time, Label: f.ID + " " + l.Pod.String() + ": " + f.Name})
			}
		}
	}
	return marks, nil
}
