/* The reference of `cargo bench --bench libyaml`, in two parts:
 *
 *     events parse FILE...      all events of libyaml's parser; prints how many there are
 *     events time COMMAND...    runs a command; prints user and system time in microseconds and the
 *                               peak of its memory in kB
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yaml.h>

/* Returns the number of events of a file; ends the program when it cannot be read. */
static unsigned long parse(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    size_t length = (size_t)ftell(file);
    unsigned char *text = malloc(length + 1);
    rewind(file);
    if (text == NULL || fread(text, 1, length, file) != length) {
        perror(path);
        exit(1);
    }
    fclose(file);

    yaml_parser_t parser;
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_string(&parser, text, length);
    unsigned long count = 0;
    int ended = 0;
    while (!ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            fprintf(stderr, "%s: %s\n", path, parser.problem);
            exit(1);
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        count++;
    }
    yaml_parser_delete(&parser);
    free(text);
    return count;
}

static long microseconds(struct timeval time)
{
    return time.tv_sec * 1000000L + time.tv_usec;
}

/* Runs a command without output and prints what it took. */
static int measure(char **command)
{
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        execv(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    int status = 0;
    struct rusage used;
    if (child < 0 || wait4(child, &status, 0, &used) != child) {
        perror("events");
        return 1;
    }
    printf("%ld %ld %ld\n", microseconds(used.ru_utime), microseconds(used.ru_stime), used.ru_maxrss);
    return status == 0 ? 0 : 1;
}

int main(int count, char **arguments)
{
    if (count > 2 && strcmp(arguments[1], "time") == 0) {
        return measure(arguments + 2);
    }
    if (count > 2 && strcmp(arguments[1], "parse") == 0) {
        unsigned long events = 0;
        for (int index = 2; index < count; index++) {
            events += parse(arguments[index]);
        }
        printf("%lu\n", events);
        return 0;
    }
    fprintf(stderr, "events: expected `parse FILE...` or `time COMMAND...`\n");
    return 2;
}
