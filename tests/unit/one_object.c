/* one_object - a library to load: see test_objects.c. */
int one_object(void);

int one_object(void)
{
    return 1;
}
