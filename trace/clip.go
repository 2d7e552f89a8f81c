package trace

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxMark is the length of the longest mark of Clip.
const maxMark = len("…[clipped: 9223372036854775807 bytes]")

// Clip returns s if it is at most limit bytes long. Otherwise it returns its beginning and a mark with its length, for
// example "…[clipped: 1048576 bytes]", together limit bytes (a mark has up to 39 bytes, and is always complete), and
// does not keep s in memory. It allocates nothing if s is short. It never splits a character.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	var b strings.Builder
	var room [maxMark]byte
	mark := append(strconv.AppendInt(append(room[:0], "…[clipped: "...), int64(len(s)), 10), " bytes]"...)
	end := max(limit-len(mark), 0)
	for end > 0 && end > limit-len(mark)-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	b.Grow(end + len(mark))
	b.WriteString(s[:end])
	b.Write(mark)
	return b.String()
}
