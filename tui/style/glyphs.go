package style

// Glyphs are the characters that are not letters. All are one column wide.
type Glyphs struct {
	Line      string // a horizontal rule
	Mark      string // next to the selection
	Dot       string // between words; also a thing to do
	Done      string // a thing done
	Failed    string // a thing that failed
	Live      string // a heart that beats
	Full      string // a filled part of a bar
	Empty     string // the rest of a bar
	Tick      string // an instant on a time line
	Critical  string // on the critical path
	Wait      string // time in which nothing works
	MeterOn   string // one step of a meter, lit
	MeterOff  string // the same, not lit
	Branch    string // a child with siblings below
	LastChild string // the last child
	Pipe      string // past a child with siblings below
	Ellipsis  string // something was truncated
	Up, Down  string // sort order
}

var unicodeGlyphs = Glyphs{
	Line: "─", Mark: "▶", Dot: "·", Done: "✓", Failed: "✗", Live: "●", Full: "▇", Empty: "░", Tick: "▏", Critical: "▸", Wait: "┄",
	MeterOn: "▮", MeterOff: "▯", Branch: "├", LastChild: "└", Pipe: "│", Ellipsis: "…", Up: "▲", Down: "▼",
}

var asciiGlyphs = Glyphs{
	Line: "-", Mark: ">", Dot: ".", Done: "+", Failed: "!", Live: "*", Full: "#", Empty: ".", Tick: "|", Critical: "=", Wait: "~",
	MeterOn: "|", MeterOff: ".", Branch: "|", LastChild: "`", Pipe: "|", Ellipsis: "~", Up: "^", Down: "v",
}
