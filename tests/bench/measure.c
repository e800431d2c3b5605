// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a command with its output thrown away.  In: a command.
 * Out: "SECONDS KIB CPU" (wall clock, largest resident set, CPU seconds) on stdout; the command's exit status.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double begin = now();
	struct rusage usage;
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: measure COMMAND [ARGUMENT ...]\n");
		return 2;
	}
	pid = fork();
	if (pid < 0) {
		perror("fork");
		return 1;
	}
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &usage) != pid) {
		perror("wait4");
		return 1;
	}
	printf("%.3f %ld %.3f\n", now() - begin, usage.ru_maxrss,
		(double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
