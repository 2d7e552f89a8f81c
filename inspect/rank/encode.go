package rank

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// JSON writes the ranking, indented.
func JSON(w io.Writer, r *Ranking) error {
	enc := json.NewEncoder(human.Writer(w))
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("write ranking: %w", err)
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (s Start) MarshalJSON() ([]byte, error) {
	type plain Start // without this method
	out := struct {
		plain
		Started *time.Duration `json:"started_ns,omitempty"`
		Ready   *time.Duration `json:"ready_ns,omitempty"`
	}{plain: plain(s)}
	if s.Started >= 0 {
		out.Started = &s.Started
	}
	if s.Ready >= 0 {
		out.Ready = &s.Ready
	}
	return json.Marshal(out)
}

// columns of the CSV. Durations are in nanoseconds; unknown values are empty.
var columns = []string{
	"rank", "namespace", "name", "uid", "source", "images", "seen", "started_ns", "ready_ns", "so_far_ns", "floor_ns", "unexplained_ns",
	"longest_phase", "longest_ns", "cause",
}

// CSV writes the column names, then a line for each start.
func CSV(w io.Writer, r *Ranking) error {
	out := csv.NewWriter(w)
	_ = out.Write(columns) // Error returns it
	for i, s := range r.Starts {
		nothing, _ := s.in(unexplained.Label())
		longest, floor := s.longest(), ""
		if s.Floor > 0 {
			floor = nanos(s.Floor)
		}
		_ = out.Write([]string{
			strconv.Itoa(i + 1), cell(s.Pod.Namespace), cell(s.Pod.Name), cell(s.Pod.UID), cell(s.Source), cell(strings.Join(s.Images, " ")),
			s.Seen.Format(time.RFC3339Nano), nanos(s.Started), nanos(s.Ready), nanos(s.SoFar), floor, nanos(nothing),
			cell(longest.Name), nanos(longest.Dur), cell(s.Cause),
		})
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write ranking: %w", err)
	}
	return nil
}

// cell prevents a spreadsheet from interpreting the text as a formula.
func cell(s string) string {
	s = human.Line(s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

func nanos(d time.Duration) string {
	if d < 0 {
		return ""
	}
	return strconv.FormatInt(int64(d), 10)
}
