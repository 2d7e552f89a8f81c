package trace

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxMark is as long as the longest mark that Clip leaves.
const maxMark = len("…[clipped: 9223372036854775807 bytes]")

// Clip returns s when it is at most limit bytes long. Of a longer one it returns the beginning and a mark with the true size, as
// "…[clipped: 1048576 bytes]", which are limit bytes together (a mark has up to 39, and is never left out), and do not keep s in memory.
// It allocates nothing when s is short. A character is never cut in two.
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
