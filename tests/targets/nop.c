/* nop - does nothing and succeeds; also built as static_nop, without a dynamic loader. */
int main(void)
{
    return 0;
}
