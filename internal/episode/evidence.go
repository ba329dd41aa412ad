package episode

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"sakur4/internal/frame"
	"sakur4/toolparse"
)

// The errors of [FromResult] and [FromFile].
var (
	// ErrNotEvidence is returned when a record is no tool result, when the call is not the one that it answers, or when a part of the name is missing.
	ErrNotEvidence = errors.New("episode: no evidence")
	// ErrOwnWords is returned when a result repeats what this module rendered: it proves nothing but that we said so.
	ErrOwnWords = errors.New("episode: the content was rendered by this module")
)

// Evidence is proof that some bytes came back from a tool or were read from a file. It is opaque: a recorded tool turn and a file that the
// cortex read are the only ways to have one. The zero value is none, and everything that takes an Evidence refuses it.
type Evidence struct {
	project, episode          string
	tool, arguments, filePath string
	content                   string
	file, valid               bool
}

// FromResult returns the evidence that a recorded tool turn is. call is the call that it answers.
func FromResult(result Record, call Call) (Evidence, error) {
	switch {
	case result.Role != Tool:
		return Evidence{}, fmt.Errorf("%w: a turn of role %q", ErrNotEvidence, result.Role)
	case result.ID == "" || result.Project == "":
		return Evidence{}, fmt.Errorf("%w: a turn that is not recorded", ErrNotEvidence)
	case result.CallID != call.ID:
		return Evidence{}, fmt.Errorf("%w: result of call %q, given call %q", ErrNotEvidence, result.CallID, call.ID)
	}
	tool := result.ToolName
	if tool == "" {
		tool = call.Name
	}
	if tool == "" {
		return Evidence{}, fmt.Errorf("%w: a result of no named tool", ErrNotEvidence)
	}
	if frame.Quoted(result.Content) {
		return Evidence{}, fmt.Errorf("%w: result of %q", ErrOwnWords, tool)
	}
	return Evidence{
		project: result.Project, episode: result.ID,
		tool: tool, arguments: call.Arguments, filePath: pathOf(tool, call.Arguments),
		content: result.Content, valid: true,
	}, nil
}

// FromFile returns the evidence that a file's content is. path is the file's path below the project's root, with slashes.
func FromFile(project, path string, content []byte) (Evidence, error) {
	if project == "" || path == "" {
		return Evidence{}, fmt.Errorf("%w: a file without project or path", ErrNotEvidence)
	}
	s := string(content)
	if frame.Contains(s) {
		return Evidence{}, fmt.Errorf("%w: file %q", ErrOwnWords, path)
	}
	return Evidence{project: project, filePath: path, content: s, file: true, valid: true}, nil
}

// Valid reports whether e is evidence of anything.
func (e Evidence) Valid() bool { return e.valid }

// Project returns the id of the project.
func (e Evidence) Project() string { return e.project }

// EpisodeID returns the id of the recorded tool turn, "" for a file.
func (e Evidence) EpisodeID() string { return e.episode }

// ToolName returns the name of the tool, "" for a file.
func (e Evidence) ToolName() string { return e.tool }

// Arguments returns the call's arguments as the model wrote them, "" for a file.
func (e Evidence) Arguments() string { return e.arguments }

// FilePath returns the path of the file that the content is the content of, "" where it is none.
func (e Evidence) FilePath() string { return e.filePath }

// IsFile reports whether the bytes were read from a file and came back from no tool.
func (e Evidence) IsFile() bool { return e.file }

// Content returns the bytes.
func (e Evidence) Content() string { return e.content }

// pathOf returns the path argument of a call whose result is a file's content.
func pathOf(tool, arguments string) string {
	if !readsFile(tool) {
		return ""
	}
	path, command := PathArgument(arguments)
	// An editor's tool reads with one of its commands only.
	switch command {
	case "", "view", "read", "open":
		return path
	}
	return ""
}

// pathNames are the names under which tools take a file, the most usual first.
var pathNames = [...]string{"/path", "/file_path", "/filePath", "/file", "/filename", "/fileName", "/file_name", "/absolute_path", "/target_file", "/relative_path",
	"/notebook_path", "/uri"}

// PathArgument returns the argument of a call that names a file, and the one named "command", which says what an editor's tool does with it.
// Either is "" where there is none, and both are where the arguments are no JSON.
func PathArgument(arguments string) (path, command string) {
	values := map[string]string{}
	err := toolparse.JSON(arguments, func(v toolparse.JSONValue) bool {
		if v.Kind == toolparse.JSONString && v.Depth() == 1 {
			name := v.Pointer()
			if _, twice := values[name]; !twice {
				values[name] = v.Text()
			}
			if name == "/command" {
				command = v.Text()
			}
		}
		return true
	})
	if err != nil {
		return "", ""
	}
	for _, name := range pathNames {
		if values[name] != "" {
			return values[name], command
		}
	}
	return "", command
}

// readsFile reports whether the tool's name says that its result is a file's content: "Read", "read_file", "mcp__fs__read_text_file", "view", "cat".
func readsFile(tool string) bool {
	reads, other := false, false
	for word := range words(tool) {
		switch word {
		case "read", "view", "cat", "open", "readfile", "viewfile", "openfile":
			reads = true
		case "write", "edit", "list", "search", "grep", "find", "delete", "create", "replace", "directory", "dir", "files", "many":
			other = true
		}
	}
	if reads && !other {
		return true
	}
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' {
			return -1
		}
		return r
	}, tool)
	switch strings.ToLower(plain) {
	case "getfilecontents", "getfilecontent", "getfile", "filecontents", "strreplaceeditor", "strreplacebasededittool", "loadfile", "fetchfile":
		return true
	}
	return false
}

// words yields the words of a tool's name, in lower case: it is split at everything but letters and digits, and where a capital follows a small letter.
func words(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := -1
		for i := 0; i <= len(name); i++ {
			letter := i < len(name) && (name[i] >= 'a' && name[i] <= 'z' || name[i] >= 'A' && name[i] <= 'Z' || name[i] >= '0' && name[i] <= '9')
			hump := letter && start >= 0 && name[i] >= 'A' && name[i] <= 'Z' && name[i-1] >= 'a' && name[i-1] <= 'z'
			if start >= 0 && (!letter || hump) {
				if !yield(strings.ToLower(name[start:i])) {
					return
				}
				start = -1
			}
			if letter && start < 0 {
				start = i
			}
		}
	}
}
