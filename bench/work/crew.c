/* Mates park between steps, so that an idle member costs nothing. */
#include "crew.h"

#include <pthread.h>
#include <stdlib.h>

struct mate {
    struct crew *crew;
    pthread_t thread;
    int index;
};

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t begin, done;
    unsigned long round; /* goes up when there is work */
    int left, leave, size, mates;
    crew_part part;
    void *argument;
    struct mate mate[];
};

static void *help(void *argument)
{
    struct mate *self = argument;
    struct crew *crew = self->crew;
    unsigned long seen = 0;

    pthread_mutex_lock(&crew->lock);
    for (;;) {
        while (crew->round == seen && !crew->leave)
            pthread_cond_wait(&crew->begin, &crew->lock);
        if (crew->leave)
            break;
        seen = crew->round;
        pthread_mutex_unlock(&crew->lock);
        crew->part(self->index, crew->size, crew->argument);
        pthread_mutex_lock(&crew->lock);
        if (--crew->left == 0)
            pthread_cond_signal(&crew->done);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

struct crew *crew_create(int threads)
{
    int mates = threads > 1 ? threads - 1 : 0;
    struct crew *crew =
        calloc(1, sizeof *crew + (size_t)mates * sizeof *crew->mate);

    if (!crew)
        return NULL;
    crew->size = mates + 1;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->begin, NULL);
    pthread_cond_init(&crew->done, NULL);
    for (; crew->mates < mates; ++crew->mates) {
        struct mate *mate = &crew->mate[crew->mates];
        mate->crew = crew;
        mate->index = crew->mates + 1;
        if (pthread_create(&mate->thread, NULL, help, mate) != 0) {
            crew_destroy(crew);
            return NULL;
        }
    }
    return crew;
}

void crew_destroy(struct crew *crew)
{
    if (!crew)
        return;
    pthread_mutex_lock(&crew->lock);
    crew->leave = 1;
    pthread_cond_broadcast(&crew->begin);
    pthread_mutex_unlock(&crew->lock);
    for (int i = 0; i < crew->mates; ++i)
        pthread_join(crew->mate[i].thread, NULL);
    pthread_cond_destroy(&crew->done);
    pthread_cond_destroy(&crew->begin);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

int crew_size(const struct crew *crew)
{
    return crew->size;
}

void crew_run(struct crew *crew, crew_part part, void *argument)
{
    if (crew->mates > 0) {
        pthread_mutex_lock(&crew->lock);
        crew->part = part;
        crew->argument = argument;
        crew->left = crew->mates;
        ++crew->round;
        pthread_cond_broadcast(&crew->begin);
        pthread_mutex_unlock(&crew->lock);
    }
    part(0, crew->size, argument);
    if (crew->mates > 0) {
        pthread_mutex_lock(&crew->lock);
        while (crew->left > 0)
            pthread_cond_wait(&crew->done, &crew->lock);
        pthread_mutex_unlock(&crew->lock);
    }
}
