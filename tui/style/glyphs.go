package style

import (
	"time"

	"charm.land/bubbles/v2/spinner"
	"charm.land/lipgloss/v2"
)

// Glyphs are the characters that are not letters. All are one column wide.
//
// Many fields: one for each character.
type Glyphs struct {
	Line      string   // a horizontal rule
	Mark      string   // next to the selection
	Dot       string   // between words; also a thing to do
	Done      string   // a thing done
	Failed    string   // a thing that failed
	Live      string   // a heart that beats
	Full      string   // a filled part of a bar
	Empty     string   // the rest of a bar
	Set       string   // a part of a bar that is set aside
	Chosen    string   // a part of a bar that belongs to the selection, where there are no colors
	Tick      string   // an instant on a time line
	Critical  string   // on the critical path
	Wait      string   // time in which nothing works
	MeterOn   string   // one step of a meter, lit
	MeterOff  string   // the same, not lit
	Branch    string   // a child with siblings below
	LastChild string   // the last child
	Pipe      string   // past a child with siblings below
	Ellipsis  string   // something was truncated
	Up, Down  string   // sort order
	Limit     string   // a threshold in a gauge
	Folded    string   // a section whose lines are hidden
	Unfolded  string   // a section whose lines are shown
	Levels    string   // of a sparkline, the lowest first
	Turning   []string // beside what is under way, one after the other
	// Phases fill the bars of phases where there are no colors.
	Phases [toneCount]string
	// Sign marks slow and failed figures where there are no colors.
	Sign   [toneCount]string
	border lipgloss.Border
}

var unicodeGlyphs = Glyphs{
	Line: "─", Mark: "▶", Dot: "·", Done: "✓", Failed: "✗", Live: "●", Full: "▇", Empty: "░", Set: "▚", Chosen: "█", Tick: "▏", Critical: "▸", Wait: "┄",
	MeterOn: "▮", MeterOff: "▯", Branch: "├", LastChild: "└", Pipe: "│", Ellipsis: "…", Up: "▲", Down: "▼",
	Limit: "┃", Folded: "▹", Unfolded: "▿", Levels: "▁▂▃▄▅▆▇█", Turning: spinner.MiniDot.Frames, border: lipgloss.RoundedBorder(),
	Phases: [toneCount]string{Volumes: "▤", Sandbox: "█", Network: "▒", Image: "▓", Create: "▇", Probe: "░", Status: "▪", Wait: "┄"},
	Sign:   [toneCount]string{Slow: "!", Fail: "x"},
}

var asciiGlyphs = Glyphs{
	Line: "-", Mark: ">", Dot: ".", Done: "+", Failed: "!", Live: "*", Full: "#", Empty: ".", Set: "=", Chosen: "@", Tick: "|", Critical: "=", Wait: "~",
	MeterOn: "|", MeterOff: ".", Branch: "|", LastChild: "`", Pipe: "|", Ellipsis: "~", Up: "^", Down: "v",
	Limit: "|", Folded: "+", Unfolded: "-", Levels: "_.-=+*#@", Turning: spinner.Line.Frames, border: lipgloss.ASCIIBorder(),
	Phases: [toneCount]string{Volumes: "v", Sandbox: "s", Network: "n", Image: "i", Create: "c", Probe: "p", Status: "u", Wait: "~"},
	Sign:   [toneCount]string{Slow: "!", Fail: "x"},
}

// turn is how long a spinner keeps a look.
const turn = 250 * time.Millisecond

// Spinner is the glyph beside what is under way, at a time. It needs no message of its own: it turns when the page is drawn.
func (g *Glyphs) Spinner(at time.Time) string {
	n := int64(len(g.Turning))
	return g.Turning[((at.UnixNano()/int64(turn))%n+n)%n]
}
