// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The one file that talks to curses.
 * In: grids.  Out: changed cells on the terminal; keys; the terminal as it was, however we end.
 * It holds the only writable state at file scope: signal handlers need it.
 */
#include "common/clock.h"
#include "tui/ui.h"

#ifdef XF_WITHOUT_CURSES

int xf_tui_term_open(
	struct xf_tui_screen *screen, const struct xf_tui_options *options, struct xf_error *err)
{
	(void)screen;
	return xf_fail(err, XF_MISSING,
		"built without ncurses (package libncurses-dev), so there is no screen interface; "
		"xenfault forks %s prints the list",
		options->path);
}

void xf_tui_term_close(struct xf_tui_screen *screen)
{
	(void)screen;
}

int xf_tui_term_signal(void)
{
	return 0;
}

#else

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGQUIT};

#define NSTOPPING				       (sizeof(stopping) / sizeof(stopping[0]))
#define NFATAL					       (sizeof(fatal) / sizeof(fatal[0]))

static struct {
	SCREEN *screen;
	struct termios saved;
	char restore[256]; /* what brings the terminal back */
	size_t restore_length;
	struct sigaction old_stopping[NSTOPPING], old_fatal[NFATAL], old_winch;
	void *stack; /* for handlers: SIGSEGV may mean that ours is used up */
	volatile sig_atomic_t signal, resized;
	attr_t attributes[XF_TUI_ROLE_COUNT];
	short pairs[XF_TUI_ROLE_COUNT];
	struct xf_tui_grid last; /* what the terminal shows */
	bool mouse;
	int64_t click_time;
	int click_y;
} term;

int xf_tui_term_signal(void)
{
	return term.signal;
}

static void on_stop(int number)
{
	term.signal = number;
}

static void on_winch(int number)
{
	(void)number;
	term.resized = 1;
}

/* Only async-signal-safe calls: the terminal back, then the signal's own course. */
static void on_fatal(int number)
{
	static const char mouse_off[] = "\033[?1006l\033[?1000l";
	ssize_t ignored = 0;

	if (term.mouse)
		ignored += write(STDOUT_FILENO, mouse_off, sizeof(mouse_off) - 1);
	ignored += write(STDOUT_FILENO, term.restore, term.restore_length);
	(void)ignored;
	tcsetattr(STDIN_FILENO, TCSANOW, &term.saved);
	for (size_t i = 0; i < NFATAL; i++)
		if (fatal[i] == number)
			sigaction(number, &term.old_fatal[i], NULL);
	raise(number);
}

/* Adds a capability to the restore string, without its $<padding>. */
static void add_restore(const char *name)
{
	const char *s = tigetstr(name);

	if (!s || s == (char *)-1)
		return;
	for (; *s && term.restore_length < sizeof(term.restore); s++) {
		if (s[0] == '$' && s[1] == '<' && strchr(s, '>'))
			s = strchr(s, '>');
		else
			term.restore[term.restore_length++] = *s;
	}
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_stop};
	size_t size = (size_t)SIGSTKSZ + 16384;
	stack_t stack = {.ss_size = size};

	for (size_t i = 0; i < NSTOPPING; i++)
		sigaction(stopping[i], &action, &term.old_stopping[i]);
	action.sa_handler = on_winch;
	sigaction(SIGWINCH, &action, &term.old_winch);
	term.stack = stack.ss_sp = malloc(size);
	if (term.stack && !sigaltstack(&stack, NULL))
		action.sa_flags = SA_ONSTACK;
	action.sa_handler = on_fatal;
	for (size_t i = 0; i < NFATAL; i++)
		sigaction(fatal[i], &action, &term.old_fatal[i]);
}

static void release_signals(void)
{
	stack_t none = {.ss_flags = SS_DISABLE};

	for (size_t i = 0; i < NSTOPPING; i++)
		sigaction(stopping[i], &term.old_stopping[i], NULL);
	for (size_t i = 0; i < NFATAL; i++)
		sigaction(fatal[i], &term.old_fatal[i], NULL);
	sigaction(SIGWINCH, &term.old_winch, NULL);
	sigaltstack(&none, NULL);
	free(term.stack);
	term.stack = NULL;
}

/* How many colours to use: 0, 8 or 256. */
static int color_depth(enum xf_tui_color color)
{
	const char *no_color = getenv("NO_COLOR");
	int most;

	if (color == XF_COLOR_NEVER || (color == XF_COLOR_AUTO && no_color && *no_color))
		return 0;
	if (!has_colors() || start_color() == ERR)
		return 0;
	most = COLORS >= 256 && COLOR_PAIRS >= 64 ? 256 : COLORS >= 8 ? 8 : 0;
	return color == XF_COLOR_8 && most ? 8 : most;
}

static void set_roles(enum xf_tui_color color)
{
	static const attr_t N = A_NORMAL, B = A_BOLD, R = A_REVERSE, U = A_UNDERLINE, D = A_DIM;
	static const struct {
		short of8, of256;
	} colors[] = {
#define X(name, mark, attributes, of8, of256, meaning) {of8, of256},
		XF_TUI_ROLES(X)
#undef X
	};
	const attr_t attributes[] = {
#define X(name, mark, attributes, of8, of256, meaning) attributes,
		XF_TUI_ROLES(X)
#undef X
	};
	int depth = color_depth(color);
	bool own_background = depth && use_default_colors() == OK;

	for (int i = 0; i < XF_TUI_ROLE_COUNT; i++) {
		short fg = depth == 256 ? colors[i].of256 : colors[i].of8;

		term.attributes[i] = attributes[i];
		term.pairs[i] = 0;
		if (!depth || fg < 0)
			continue;
		if (init_pair((short)(i + 1), fg, own_background ? -1 : COLOR_BLACK) == OK)
			term.pairs[i] = (short)(i + 1);
		term.attributes[i] &= ~A_DIM; /* the colour says it */
	}
}

/* --- drawing --- */

static void term_size(void *data, int *width, int *height)
{
	(void)data;
	*width = COLS;
	*height = LINES;
}

static void put_cell(int x, int y, const struct xf_tui_cell *cell)
{
	wchar_t text[2] = {(wchar_t)cell->ch, 0};
	cchar_t c;

	if (!cell->ch ||
		setcchar(&c, text, term.attributes[cell->role], term.pairs[cell->role], NULL))
		return;
	mvadd_wch(y, x, &c);
}

static void term_draw(void *data, const struct xf_tui_grid *grid, bool all)
{
	size_t n = (size_t)grid->width * (size_t)grid->height;
	struct xf_error err = {0};

	(void)data;
	if (all || term.last.width != grid->width || term.last.height != grid->height) {
		if (xf_tui_grid_resize(&term.last, grid->width, grid->height, &err))
			return;
		clear();
	}
	for (size_t i = 0; i < n; i++) {
		const struct xf_tui_cell *cell = &grid->cells[i];

		if (cell->ch == term.last.cells[i].ch && cell->role == term.last.cells[i].role)
			continue;
		put_cell((int)(i % (size_t)grid->width), (int)(i / (size_t)grid->width), cell);
		term.last.cells[i] = *cell;
	}
	curs_set(grid->cursor_x >= 0);
	if (grid->cursor_x >= 0)
		move(grid->cursor_y, grid->cursor_x);
	refresh();
}

/* --- keys --- */

static bool term_mouse(void *data, bool on)
{
	mmask_t mask = on ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0;
	mmask_t got = mousemask(mask, NULL);

	(void)data;
	mouseinterval(0);
	term.mouse = on && got;
	return !on || got;
}

static struct xf_tui_event mouse_event(void)
{
	struct xf_tui_event event = {0};
	int64_t now = xf_clock_ns();
	MEVENT mouse;

	if (getmouse(&mouse) != OK)
		return event;
	event.x = mouse.x;
	event.y = mouse.y;
	if (mouse.bstate & BUTTON4_PRESSED)
		event.key = XF_KEY_WHEEL_UP;
	else if (mouse.bstate & BUTTON5_PRESSED)
		event.key = XF_KEY_WHEEL_DOWN;
	else if (mouse.bstate & BUTTON1_PRESSED)
		event.key = term.click_y == mouse.y && now - term.click_time < 400000000
				    ? XF_KEY_DOUBLE
				    : XF_KEY_CLICK;
	if (event.key == XF_KEY_CLICK) {
		term.click_y = mouse.y;
		term.click_time = now;
	} else {
		term.click_time = 0;
	}
	return event;
}

static struct xf_tui_event translate(bool special, wint_t ch)
{
	static const struct {
		int curses, key;
	} keys[] = {{KEY_UP, XF_KEY_UP}, {KEY_DOWN, XF_KEY_DOWN}, {KEY_LEFT, XF_KEY_LEFT},
		{KEY_RIGHT, XF_KEY_RIGHT}, {KEY_HOME, XF_KEY_HOME}, {KEY_END, XF_KEY_END},
		{KEY_PPAGE, XF_KEY_PGUP}, {KEY_NPAGE, XF_KEY_PGDN}, {KEY_DC, XF_KEY_DELETE},
		{KEY_BTAB, XF_KEY_BACKTAB}, {KEY_ENTER, XF_KEY_ENTER},
		{KEY_BACKSPACE, XF_KEY_BACKSPACE}, {KEY_F(1), XF_KEY_F1},
		{KEY_RESIZE, XF_KEY_RESIZE}, {KEY_A1, XF_KEY_HOME}, {KEY_C1, XF_KEY_END},
		{KEY_A3, XF_KEY_PGUP}, {KEY_C3, XF_KEY_PGDN}};

	if (!special)
		return (struct xf_tui_event){.key = ch < 0x110000 ? (int)ch : 0};
	if (ch == KEY_MOUSE)
		return mouse_event();
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if ((wint_t)keys[i].curses == ch)
			return (struct xf_tui_event){.key = keys[i].key};
	return (struct xf_tui_event){.key = 0x110000}; /* a key that means nothing here */
}

/* Has the size changed?  Also after a stop, during which no signal came. */
static bool follow_size(void)
{
	struct winsize size;

	term.resized = 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		return false;
	if (size.ws_row == LINES && size.ws_col == COLS)
		return false;
	resizeterm(size.ws_row, size.ws_col);
	return true;
}

static struct xf_tui_event term_key(void *data, int timeout)
{
	struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
	bool ready = false;
	wint_t ch;

	(void)data;
	for (;;) {
		int got, n;

		if (term.signal)
			return (struct xf_tui_event){.key = XF_KEY_STOP};
		if (follow_size())
			return (struct xf_tui_event){.key = XF_KEY_RESIZE};
		got = get_wch(&ch);
		if (got == OK || got == KEY_CODE_YES)
			return translate(got == KEY_CODE_YES, ch);
		if (ready) /* readable, but nothing to read */
			return (struct xf_tui_event){.key = XF_KEY_LOST};
		n = poll(&fd, 1, timeout);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (struct xf_tui_event){0};
		ready = fd.revents != 0;
	}
}

/* --- begin and end --- */

static int no_terminal(const struct xf_tui_options *options, struct xf_error *err)
{
	const char *name = getenv("TERM"), *cup;
	int known;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return xf_fail(err, XF_USAGE, "not a terminal; the same as text: xenfault forks %s",
			options->path);
	if (!name || !*name)
		return xf_fail(err, XF_USAGE,
			"TERM is not set, so the terminal's abilities are unknown; try: "
			"TERM=xterm-256color xenfault tui %s",
			options->path);
	if (setupterm(NULL, STDOUT_FILENO, &known) == ERR)
		return xf_fail(err, XF_USAGE,
			"TERM=%s is not known on this machine; try: TERM=xterm-256color xenfault tui "
			"%s",
			name, options->path);
	cup = tigetstr("cup");
	del_curterm(cur_term); /* newterm() makes its own */
	if (!cup || cup == (char *)-1)
		return xf_fail(err, XF_USAGE,
			"TERM=%s cannot place the cursor; the same as text: xenfault forks %s",
			name, options->path);
	return 0;
}

static void set_modes(void)
{
	if (!getenv("ESCDELAY"))
		set_escdelay(25);
	cbreak();
	noecho();
	nonl();
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
}

int xf_tui_term_open(
	struct xf_tui_screen *screen, const struct xf_tui_options *options, struct xf_error *err)
{
	static const char *const capabilities[] = {"sgr0", "op", "cnorm", "rmkx", "rmcup"};
	int code = no_terminal(options, err);

	if (code)
		return code;
	memset(&term, 0, sizeof(term));
	if (tcgetattr(STDIN_FILENO, &term.saved))
		return xf_fail_errno(err, XF_IO, "terminal");
	term.screen = newterm(NULL, stdout, stdin);
	if (!term.screen)
		return xf_fail(err, XF_USAGE,
			"TERM=%s cannot be used; try: TERM=xterm-256color xenfault tui %s",
			getenv("TERM"), options->path);
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
		add_restore(capabilities[i]);
	catch_signals();
	set_modes();
	set_roles(options->color);
	if (options->mouse)
		term_mouse(NULL, true);
	*screen = (struct xf_tui_screen){
		.key = term_key, .draw = term_draw, .size = term_size, .mouse = term_mouse};
	return 0;
}

void xf_tui_term_close(struct xf_tui_screen *screen)
{
	(void)screen;
	if (term.mouse)
		term_mouse(NULL, false);
	endwin();
	tcsetattr(STDIN_FILENO, TCSADRAIN, &term.saved);
	delscreen(term.screen);
	release_signals();
	xf_tui_grid_free(&term.last);
}

#endif
