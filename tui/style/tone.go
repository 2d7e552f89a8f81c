package style

// Tone is what a piece of text means; a theme maps it to a style.
type Tone uint8

// The tones.
const (
	Plain  Tone = iota
	Dim         // of less interest
	Strong      // names of parts
	Head        // names of columns
	Slow        // takes longer than it should
	Fail        // failed
	Accent      // keys and the focus
	Badge       // a state that stands out, and the cursor of a line being typed
	Border      // lines between and around parts
	// The phases of a pod's start have the same hue in every view.
	Volumes
	Sandbox
	Network
	Image
	Create // create and start of containers
	Probe
	Status
	Wait
	toneCount
)

// Flags of a tone.
const (
	critical Tone = 1 << 6
	selected Tone = 1 << 7
	toneMask      = critical - 1
)

// Selected is plain text under the cursor.
const Selected = Plain | selected

// Critical returns the tone of what is on the critical path.
func (t Tone) Critical() Tone { return t | critical }

// Selected returns the tone of what is under the cursor.
func (t Tone) Selected() Tone { return t | selected }
