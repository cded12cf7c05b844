/* Helpers park between steps, so that an idle member costs nothing. */
#include "crew.h"

#include <pthread.h>
#include <stdlib.h>

struct helper {
    struct crew *crew;
    pthread_t thread;
    int index;
};

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t begin, done;
    unsigned long round; /* goes up when there is work */
    int left, leave, size, helpers;
    crew_part part;
    void *argument;
    struct helper helper[];
};

static void *help(void *argument)
{
    struct helper *self = argument;
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
    int helpers = threads > 1 ? threads - 1 : 0;
    struct crew *crew =
        calloc(1, sizeof *crew + (size_t)helpers * sizeof *crew->helper);

    if (!crew)
        return NULL;
    crew->size = helpers + 1;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->begin, NULL);
    pthread_cond_init(&crew->done, NULL);
    for (; crew->helpers < helpers; ++crew->helpers) {
        struct helper *helper = &crew->helper[crew->helpers];
        helper->crew = crew;
        helper->index = crew->helpers + 1;
        if (pthread_create(&helper->thread, NULL, help, helper) != 0) {
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
    for (int i = 0; i < crew->helpers; ++i)
        pthread_join(crew->helper[i].thread, NULL);
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
    if (crew->helpers > 0) {
        pthread_mutex_lock(&crew->lock);
        crew->part = part;
        crew->argument = argument;
        crew->left = crew->helpers;
        ++crew->round;
        pthread_cond_broadcast(&crew->begin);
        pthread_mutex_unlock(&crew->lock);
    }
    part(0, crew->size, argument);
    if (crew->helpers > 0) {
        pthread_mutex_lock(&crew->lock);
        while (crew->left > 0)
            pthread_cond_wait(&crew->done, &crew->lock);
        pthread_mutex_unlock(&crew->lock);
    }
}
